// Checks the accessibility of a page, and returns a description of each fault.
const faults = [];
const all = (selector) => [...document.querySelectorAll(selector)];
const isSeen = (element) => {
  const box = element.getBoundingClientRect();
  const style = getComputedStyle(element);
  return box.width > 0 && box.height > 0 && style.visibility !== "hidden" && !element.closest("details:not([open]) > :not(summary)");
};
const told = (element) => `<${element.localName}${element.id && "#" + element.id}> ${(element.textContent || "").trim().slice(0, 40)}`;

// Language, title and structure.
if (document.documentElement.lang !== "en") faults.push("the page has no language");
if (!document.title.includes("Headgate")) faults.push("the page has no title");
for (const selector of ["main", "h1", "header", "footer", "nav[aria-label]"]) {
  if (all(selector).length !== 1) faults.push(`there are ${all(selector).length} of ${selector}`);
}
if (!all("[role=status]").length) faults.push("no element announces changes to screen readers");
let level = 0;
for (const heading of all("h1, h2, h3, h4")) {
  const own = Number(heading.localName[1]);
  if (own > level + 1) faults.push(`a heading skips a level: ${told(heading)}`);
  level = own;
}
const ids = all("[id]").map((element) => element.id);
ids.filter((id, place) => ids.indexOf(id) !== place).forEach((id) => faults.push(`two elements are #${id}`));
for (const element of all("[aria-labelledby]")) {
  if (!document.getElementById(element.getAttribute("aria-labelledby"))) faults.push(`the label of this element does not exist: ${told(element)}`);
}
for (const table of all("table")) {
  if (!table.caption) faults.push("a table has no caption");
  for (const head of table.querySelectorAll("th")) if (!head.scope) faults.push(`a heading of a table has no scope: ${told(head)}`);
}
for (const list of all("ul, ol")) {
  for (const item of list.children) if (item.localName !== "li") faults.push(`a list contains another element than li: ${told(item)}`);
}

// Each control has a name, its place in the order of the tab key, and enough height for a finger.
for (const element of all("a[href], button, input:not([type=hidden]), summary")) {
  const label = element.getAttribute("aria-label") || element.labels?.[0]?.textContent || element.textContent;
  if (!label.trim()) faults.push(`a control has no name: ${element.outerHTML.slice(0, 80)}`);
  if (element.tabIndex > 0) faults.push(`a tabindex changes the order of the tab key: ${told(element)}`);
  const box = element.getBoundingClientRect();
  if (isSeen(element) && element.matches("button, nav a, input:not([type=checkbox])") && box.height < 24) {
    faults.push(`a control is only ${box.height} pixels high: ${told(element)}`);
  }
}
for (const image of all("img")) if (!image.hasAttribute("alt")) faults.push("an image has no alt");
for (const picture of all("svg")) {
  const isNamed = picture.getAttribute("role") === "img" && picture.getAttribute("aria-label");
  if (!isNamed && !picture.closest("[aria-hidden=true]") && !picture.parentElement.closest("svg[role=img]")) {
    faults.push(`a picture has no name: ${picture.outerHTML.slice(0, 80)}`);
  }
}

// Text has enough contrast (WCAG 2.2, 1.4.3).
const channels = (colour) => {
  const numbers = colour.match(/[\d.]+/g).map(Number);
  return { rgb: numbers.slice(0, 3), alpha: numbers[3] ?? 1 };
};
const luminance = ({ rgb }) => {
  const [r, g, b] = rgb.map((value) => value / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (one, other) => {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
};
const ground = (element) => {
  for (let place = element; place; place = place.parentElement) {
    const colour = channels(getComputedStyle(place).backgroundColor);
    if (colour.alpha === 1) return colour;
  }
  return channels("rgb(255, 255, 255)");
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const pairs = new Set();
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || element.closest(".unseen, title, noscript, .skip") || !isSeen(element)) continue;
  const style = getComputedStyle(element);
  const colour = element.closest("svg") ? style.fill : style.color;
  const size = parseFloat(style.fontSize);
  const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  const ratio = contrast(channels(colour), ground(element));
  pairs.add(ratio.toFixed(1));
  if (ratio < (isLarge ? 3 : 4.5)) faults.push(`contrast ${ratio.toFixed(2)}: ${told(element)}`);
  if (size < 12) faults.push(`only ${size} pixels: ${told(element)}`);
}
if (pairs.size < 2) faults.push("no text was checked");
// Graphics have enough contrast (1.4.11).
const fill = (selector) => document.querySelector(selector) && channels(getComputedStyle(document.querySelector(selector)).fill);
const bed = fill(".channel .bed");
const plate = fill(".channel .closed .plate");
if (bed && plate && contrast(bed, plate) < 3) faults.push("a closed gate does not stand out");

const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
if (wide > 0) {
  const edge = document.documentElement.clientWidth;
  const culprit = all("main *, header *").find((element) => element.getBoundingClientRect().right > edge + 1 && !element.closest(".sheet"));
  faults.push(`the page is ${wide} pixels too wide: ${culprit ? told(culprit) : "?"}`);
}
return faults;
