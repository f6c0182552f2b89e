// Keeps a page as it is now. The server sends the regions that have changed, made by the same program as the page; a
// region is patched in place, so that focus, selection and what was opened stay.

/** Makes one element like another, touching only what differs. */
function patch(present, wanted) {
  for (const { name } of [...present.attributes]) {
    // What the reader opened stays open.
    if (!wanted.hasAttribute(name) && !(name === "open" && present.localName === "details")) present.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (present.getAttribute(name) !== value) present.setAttribute(name, value);
  }
  patchChildren(present, wanted);
}

function patchChildren(present, wanted) {
  const old = [...present.childNodes];
  const fresh = [...wanted.childNodes];
  fresh.forEach((node, place) => {
    const own = old[place];
    if (!own) present.append(node);
    else if (own.nodeType !== node.nodeType || own.nodeName !== node.nodeName) own.replaceWith(node);
    else if (node.nodeType === Node.ELEMENT_NODE) patch(own, node);
    else if (own.data !== node.data) own.data = node.data;
  });
  old.slice(fresh.length).forEach((node) => node.remove());
}

function show(news) {
  const end = news.indexOf("\n");
  const region = document.getElementById(news.slice(0, end));
  if (!region) return;
  const template = document.createElement("template");
  template.innerHTML = news.slice(end + 1);
  patchChildren(region, template.content);
}

const state = document.getElementById("stream");
let stream;
let doubt;

/** Says how the page gets its news; nothing when all is well. */
function tell(words) {
  clearTimeout(doubt);
  doubt = undefined;
  if (state.textContent !== words) state.textContent = words;
  state.hidden = !words;
}

function open() {
  stream?.close();
  stream = new EventSource(document.body.dataset.live);
  stream.addEventListener("region", (event) => {
    tell("");
    show(event.data);
  });
  stream.addEventListener("open", () => tell(""));
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) refused();
    // A console that starts again is back before anybody has read that it was away.
    else doubt ??= setTimeout(() => tell("The console does not answer: this page is out of date. It continues when the console is back."), 1500);
  });
}

/** Browsers do not come again when they were refused: the token is another one, or there are too many pages. */
function refused() {
  tell("The console no longer accepts this page. Open the URL that headgate-console printed at its start.");
  doubt = setTimeout(open, 10000);
}

// A hidden page gets no updates, so that it costs nothing.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) stream?.close();
  else open();
});
if (!document.hidden) open();
