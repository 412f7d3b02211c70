// Looks for what was typed, as it was typed, in PLACES (search_<language>.js). Chinese is written without spaces, so a
// longer Chinese phrase that stands nowhere is looked for in pairs of characters.

const SHOWN = 50;
const normal = text => text.normalize("NFKC").toLowerCase();
const places = PLACES.map(([address, title, lesson, text]) =>
  ({ address, title, lesson, text, low: normal(text), lowTitle: normal(title) }));

const count = (text, word, most) => {
  let found = 0;
  for (let i = text.indexOf(word); i >= 0 && found < most; i = text.indexOf(word, i + word.length)) found++;
  return found;
};

const pairs = word => [...word].slice(1).map((character, i) => word[i] + character);

// A word in the heading weighs most, then a whole word, then a part of one.
function weigh(place, word) {
  let weight = 20 * count(place.lowTitle, word, 1) + count(place.low, word, 10);
  if (weight && /^[a-z0-9_.]+$/.test(word))
    weight += new RegExp(`(^|[^a-z0-9_])${word.replaceAll(".", "\\.")}($|[^a-z0-9_])`).test(place.low) ? 8 : 0;
  if (weight || !/^\p{Script=Han}{3,}$/u.test(word)) return weight;
  const share = pairs(word).filter(pair => `${place.lowTitle}\n${place.low}`.includes(pair)).length / pairs(word).length;
  return share > 0.5 ? share : 0;
}

function search(query) {
  const words = normal(query).split(/\s+/).filter(Boolean);
  const found = [];
  for (const place of words.length ? places : []) {
    const weights = words.map(word => weigh(place, word));
    if (weights.every(Boolean)) found.push({ place, weight: weights.reduce((sum, weight) => sum + weight) });
  }
  return [found.sort((one, other) => other.weight - one.weight).map(({ place }) => place), words];
}

// A line or two around the first word, the words marked. Only text is written, never HTML.
function excerpt(text, typed) {
  const low = normal(text);
  const words = typed.flatMap(word => low.includes(word) || !/^\p{Script=Han}{3,}$/u.test(word) ? [word] : pairs(word));
  const first = Math.min(...words.map(word => low.indexOf(word)).filter(at => at >= 0), low.length);
  // It begins at a word: after the first space or mark in front of what was found, if there is one.
  const from = first === low.length ? 0 : Math.max(0, first - 40);
  const gap = from ? text.slice(from, first).search(/[\s，。；：、（「.,;:(]/) : -1;
  const start = from && gap >= 0 ? from + gap + 1 : from && /\w\w/.test(text.slice(from - 1, from + 1)) ? first : from;
  const shown = (start ? "… " : "") + text.slice(start, start + 160).trim().replaceAll("\n", " ");
  const escaped = words.map(word => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const line = document.createElement("p");
  for (const part of shown.split(new RegExp(`(${escaped.join("|")})`, "i"))) {
    const mark = words.includes(normal(part)) ? line.appendChild(document.createElement("mark")) : line;
    mark.append(part);
  }
  return line;
}

const field = document.querySelector("header input[name=q]");
const status = document.getElementById("status");
const results = document.getElementById("results");

function show() {
  const query = field.value.trim();
  const [found, words] = search(query);
  results.replaceChildren(...found.slice(0, SHOWN).map(place => {
    const item = document.createElement("li");
    const link = item.appendChild(document.createElement("a"));
    link.href = place.address;
    link.textContent = place.title;
    if (place.lesson) {
      const lesson = item.appendChild(document.createElement("span"));
      lesson.className = "small";
      lesson.textContent = ` ${place.lesson}`;
    }
    item.append(excerpt(place.text, words));
    return item;
  }));
  const say = !found.length ? status.dataset.nothing : found.length > SHOWN ? status.dataset.many : status.dataset.found;
  status.textContent = query ? say.replace("#", found.length).replace("%", SHOWN) : "";
  history.replaceState(null, "", query ? `?q=${encodeURIComponent(query)}` : location.pathname);
}

field.value = new URLSearchParams(location.search).get("q") ?? "";
field.addEventListener("input", show);
field.form.addEventListener("submit", event => { event.preventDefault(); show(); });
show();
