/** The browser's tab: its title and icon say how many things need somebody. */

let page = "Tickwise";
let needs = 0;

export function setPage(title) {
  page = `${title} · Tickwise`;
  draw();
}

export function setNeeds(count) {
  needs = count;
  draw();
}

function draw() {
  const text = needs ? `(${needs}) ${page}` : page;
  if (document.title !== text) document.title = text;
  const link = document.querySelector("link[rel=icon]");
  const icon = link.href.replace(/icon(-needs)?\.svg/, needs ? "icon-needs.svg" : "icon.svg");
  if (link.href !== icon) link.href = icon;
}
