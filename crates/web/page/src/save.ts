// Pictures and tables as files.

/** Saves a table; a text that a spreadsheet would take for a formula is made one that it does not, but for numbers with a sign. */
export function saveCsv(name: string, rows: (string | number)[][]): void {
  save(`${name}.csv`, new Blob([csv(rows)], { type: "text/csv" }));
}

export function csv(rows: (string | number)[][]): string {
  const cell = (value: string | number) => {
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) && !/^[+-]\d+(\.\d+)?$/.test(value) ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** Saves pictures that lie one on the other as one. */
export function savePng(name: string, layers: HTMLCanvasElement[]): void {
  const whole = document.createElement("canvas");
  [whole.width, whole.height] = [layers[0]?.width ?? 1, layers[0]?.height ?? 1];
  const context = whole.getContext("2d");
  layers.forEach((layer) => context?.drawImage(layer, 0, 0));
  whole.toBlob((blob) => {
    if (blob !== null) save(`${name}.png`, blob);
  });
}

export function saveSvg(name: string, drawing: string): void {
  save(`${name}.svg`, new Blob([drawing], { type: "image/svg+xml" }));
}

/** Styles of the page that a drawing takes with it. */
const STYLES = ["fill", "stroke", "stroke-width", "color", "font-size", "font-family", "font-weight"];

/** Saves the drawing within an element, with the colours that it has on the page. */
export function saveDrawing(name: string, holder: Element | null): void {
  const drawing = holder?.querySelector("svg");
  if (!drawing) return;
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const copies = copy.querySelectorAll<SVGElement>("*");
  drawing.querySelectorAll("*").forEach((one, at) => {
    const own = getComputedStyle(one);
    STYLES.forEach((style) => copies[at].style.setProperty(style, own.getPropertyValue(style)));
  });
  copy.style.background = getComputedStyle(document.body).backgroundColor;
  saveSvg(name, new XMLSerializer().serializeToString(copy));
}

/** Saves the table within an element as it is shown, numbers as other programs read them. */
export function saveTable(name: string, holder: Element | null): void {
  const rows = holder?.querySelector("table")?.rows ?? [];
  const text = (cell: HTMLTableCellElement) => (cell.classList.contains("number") ? ungrouped(cell.textContent ?? "") : (cell.textContent ?? ""));
  saveCsv(name, Array.from(rows, (row) => Array.from(row.cells, text)));
}

/** A text without the commas between the thousands of its numbers. */
export function ungrouped(text: string): string {
  return text.replace(/\d{1,3}(?:,\d{3})+(?!\d)/g, (number) => number.replaceAll(",", ""));
}

function save(name: string, blob: Blob): void {
  const link = document.createElement("a");
  [link.href, link.download] = [URL.createObjectURL(blob), name];
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
