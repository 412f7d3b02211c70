// The switch between light and dark, the remembered language, and what needs the size of the window.
// Every page is complete without it.

const remember = (key, value) => { try { localStorage.setItem(key, value); } catch { /* not allowed: forget it */ } };

const root = document.documentElement;
const theme = document.querySelector("button.theme");
const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const showTheme = () => theme.setAttribute("aria-pressed", isDark());
theme.hidden = false;
showTheme();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
theme.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  remember("course-theme", root.dataset.theme);
  showTheme();
});

// The other language opens at the section that is being read: anchors are the same in all languages. (At the top of the
// page, which a phone must scroll to for the switch, it is the section that the address names.)
const headings = [...document.querySelectorAll("main :is(h2, h3, h4)[id]")];
const here = () => headings.filter(heading => heading.getBoundingClientRect().top < innerHeight / 3).at(-1);
for (const link of document.querySelectorAll("[data-language]"))
  link.addEventListener("click", () => {
    remember("course-language", link.dataset.language);
    link.search = location.search;
    link.hash = here()?.id ?? location.hash;
  });

// The list of sections follows the text.
const entries = new Map([...document.querySelectorAll(".contents a[href^='#']")].map(link => [link.hash.slice(1), link]));
const list = document.querySelector(".contents details");
let current = null;
const follow = () => {
  const up = document.querySelector(".up");
  up.classList.toggle("away", scrollY < 2 * innerHeight);
  const next = headings.filter(one => entries.has(one.id) && one.getBoundingClientRect().top < innerHeight / 3).at(-1)?.id;
  if (next === current) return;
  entries.get(current)?.removeAttribute("aria-current");
  entries.get(current = next)?.setAttribute("aria-current", "location");
  const link = entries.get(current);
  if (link && list.scrollHeight > list.clientHeight) list.scrollTop = link.offsetTop - list.clientHeight / 2;
};
addEventListener("scroll", follow, { passive: true });
follow();

// A copy button at each piece of code. Where a page from a folder may not use the clipboard, the old way does.
async function copy(text) {
  try { return await navigator.clipboard.writeText(text); } catch { /* the old way */ }
  const area = document.body.appendChild(document.createElement("textarea"));
  area.value = text;
  area.select();
  document.execCommand("copy");
  area.remove();
}
for (const code of document.querySelectorAll("main pre.code")) {
  const box = document.createElement("div"), button = document.createElement("button");
  box.className = "copied";
  button.type = "button";
  button.className = "copy";
  button.textContent = document.body.dataset.copy;
  code.replaceWith(box);
  box.append(code, button);
  button.addEventListener("click", async () => {
    await copy(code.textContent);
    button.textContent = document.body.dataset.copied;
    setTimeout(() => { button.textContent = document.body.dataset.copy; }, 2000);
  });
}

// On a phone the contents begin closed.
if (matchMedia("(max-width: 60rem)").matches) document.querySelector(".contents details").open = false;

// What scrolls sideways can be reached with the keyboard, and only that.
const marked = "main :is(pre, .course-scroll)";
const markScrolling = () => {
  for (const box of document.querySelectorAll(marked)) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};
markScrolling();
addEventListener("resize", markScrolling);
document.addEventListener("toggle", markScrolling, true); // a <details> was opened

for (const button of document.querySelectorAll("button.print")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}
