// Search and buttons that copy. The index is loaded when the search is used first.

const field = document.getElementById("search");
const list = document.getElementById("found");
let index;

function load(file) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = file;
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  });
}

/** Scripts instead of `fetch`, so that the search also works where the files are opened from a disk. */
async function loadIndex() {
  await load("minisearch.js");
  await load("search-index.js");
  const { options, data } = window.searchIndex;
  return window.MiniSearch.loadJS(data, options);
}

function toItem({ id, page, heading }) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  const place = document.createElement("small");
  link.className = "hit";
  link.href = id;
  link.textContent = heading;
  place.textContent = page;
  link.append(place);
  item.append(link);
  return item;
}

function toNotice(text) {
  const item = document.createElement("li");
  const notice = document.createElement("p");
  notice.className = "hit";
  notice.textContent = text;
  item.append(notice);
  return item;
}

async function show() {
  const words = field.value.trim();
  list.hidden = words === "";
  if (words === "") return;
  index ??= loadIndex();
  const ready = await index;
  if (field.value.trim() !== words) return;
  const found = ready.search(words, { prefix: true, fuzzy: 0.15, combineWith: "AND", boost: { heading: 3, page: 2 } });
  list.replaceChildren(...(found.length === 0 ? [toNotice("Nothing found")] : found.slice(0, 12).map(toItem)));
}

field.addEventListener("input", show);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(?:INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    event.preventDefault();
    field.focus();
  }
  if (event.key === "Escape") list.hidden = true;
});
document.addEventListener("click", (event) => {
  if (!event.target.closest(".search")) list.hidden = true;
});

for (const block of document.querySelectorAll("pre[data-language=sh]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code").textContent);
    button.textContent = "Copied";
  });
  block.append(button);
}
