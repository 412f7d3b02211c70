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
