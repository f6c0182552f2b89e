// The search, and adjustments to the size of the window. Pages are complete without this script.
"use strict";

const root = document.currentScript.dataset.root;
const form = document.querySelector("[role=search]");
const field = document.getElementById("the-search");
const panel = document.getElementById("the-found");
const count = document.getElementById("the-count");
const list = panel.querySelector("ol");
const MOST = 40;

// Factors for the rank of results: decisions, records and the reference of the Swift modules come after similar results.
const WEIGHTS = { "Swift/": 0.5, "Decisions/": 0.5, "Records/": 0.5 };
// Words that the search ignores, since they say nothing about the subject of a question.
const STOP_WORDS = new Set(
  "a an and are as at be by can do does for from get have how i if in is it its me my of on or should so that the this to use was we what when where which who why will with you your"
    .split(" "));

/** Returns the sections that have all words of a query, the best match first. */
function lookUp(index, query) {
  const words = wordsOf(query);
  if (!words.length) return [];
  const found = [];
  for (const [title, page, sections] of index) {
    const weight = WEIGHTS[page.slice(0, page.indexOf("/") + 1)] ?? 1;
    for (const [heading, anchor, text] of sections) {
      const worth = weight * worthOf(words, plain(title), plain(heading), plain(text));
      if (worth) found.push({ title, page, heading, anchor, text, words, worth });
    }
  }
  return found.sort((one, other) => other.worth - one.worth);
}

/** Returns the words of a query without stop words, or all words if each is a stop word. */
function wordsOf(query) {
  const words = plain(query).replace(/[?!.,;]+(\s|$)/g, " ").split(/\s+/).filter(Boolean);
  const telling = words.filter((word) => !STOP_WORDS.has(word));
  return telling.length ? telling : words;
}

/** Returns a text in the form in which texts are compared: in lower case, with spaces instead of underscores. */
function plain(text) {
  return text.toLowerCase().replaceAll("_", " ");
}

function worthOf(words, title, heading, text) {
  let worth = 0;
  for (const word of words) {
    const own = 12 * fit(heading, word) + (heading === title ? 0 : 5 * fit(title, word)) + 3 * fit(text, word);
    if (!own) return 0;
    worth += own;
  }
  const phrase = words.join(" ");
  return worth + (heading === phrase ? 40 : 0) + (text.includes(phrase) ? 15 : 0);
}

/** Returns 3 if the text has the word, 2 if one of its words begins with it, 1 if one contains it, and otherwise 0. */
function fit(text, word) {
  let best = 0;
  for (let at = text.indexOf(word); at >= 0 && best < 3; at = text.indexOf(word, at + 1)) {
    const begins = !isLetter(text[at - 1]);
    best = Math.max(best, begins ? (isLetter(text[at + word.length]) ? 2 : 3) : 1);
  }
  return best;
}

function isLetter(sign) {
  return sign !== undefined && /[\p{L}\p{N}]/u.test(sign);
}

/** Returns the text around the first match, with all matches marked. */
function excerpt(text, words) {
  const places = words.map((word) => plain(text).indexOf(word)).filter((place) => place >= 0);
  const start = Math.max(0, Math.min(...places, text.length) - 50);
  const piece = (start ? "… " : "") + text.slice(start, start + 180) + (text.length > start + 180 ? " …" : "");
  const parts = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return piece.split(new RegExp(`(${parts.join("|")})`, "i")).map((part, place) => (place % 2 ? element("mark", part) : part));
}

function element(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

function show(query) {
  if (!query.trim()) return closePanel();
  const found = lookUp(window.searchIndex ?? [], query);
  const items = found.slice(0, MOST).map((hit) => {
    const link = element("a", element("b", hit.heading || hit.title));
    link.href = root + hit.page + (hit.anchor && "#" + encodeURIComponent(hit.anchor));
    const of = element("span", hit.heading && hit.heading !== hit.title ? hit.title : "");
    of.className = "of";
    const about = element("span", ...excerpt(hit.text, hit.words));
    about.className = "about";
    link.append(of, about);
    return element("li", link);
  });
  list.replaceChildren(...items);
  count.textContent = !found.length ? "No section has all of these words"
    : found.length > MOST ? `${MOST} of ${found.length} places` : found.length === 1 ? "1 place" : `${found.length} places`;
  list.hidden = false;
  panel.classList.add("open");
}

function closePanel() {
  list.hidden = true;
  count.textContent = "";
  panel.classList.remove("open");
}

/** Handles Escape: moves the focus to the field, and closes the list of results. */
function leave() {
  if (panel.contains(document.activeElement)) field.focus();
  closePanel();
}

/** Loads the search index. It is a script, since a page that is opened from a folder may load no other file. */
function load() {
  if (document.getElementById("the-index")) return;
  const script = document.createElement("script");
  script.id = "the-index";
  script.src = root + "search-index.js";
  script.onload = () => show(field.value);
  document.head.append(script);
}

function goOn(by) {
  const stops = [field, ...panel.querySelectorAll("a")];
  const next = stops[stops.indexOf(document.activeElement) + by];
  if (next && !list.hidden) next.focus();
}

form.hidden = false;
field.addEventListener("focus", load);
field.addEventListener("input", () => show(field.value));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  panel.querySelector("a")?.click();
});
form.addEventListener("focusout", (event) => {
  if (!form.contains(event.relatedTarget)) closePanel();
});
field.addEventListener("focus", () => window.searchIndex && show(field.value));
panel.addEventListener("mousedown", (event) => event.preventDefault());
panel.addEventListener("click", closePanel);
document.addEventListener("keydown", (event) => {
  const isTyping = /^(input|textarea)$/i.test(event.target.localName);
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    field.focus();
  } else if (event.key === "Escape") {
    leave();
  } else if (form.contains(event.target) && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    goOn(event.key === "ArrowDown" ? 1 : -1);
  }
});

// Content that is too wide gets the focus, so that the keyboard can scroll it. A wide window always shows the menu.
const menu = document.querySelector(".menu");
const current = menu.querySelector("[aria-current]");
if (current) menu.scrollTop = current.offsetTop - menu.offsetTop - 80;
function fitWindow() {
  if (innerWidth >= 960) menu.open = true;
  for (const sheet of document.querySelectorAll("pre, .sheet")) {
    sheet.toggleAttribute("tabindex", sheet.scrollWidth > sheet.clientWidth);
    if (sheet.hasAttribute("tabindex")) sheet.tabIndex = 0;
  }
}
addEventListener("resize", fitWindow);
fitWindow();
