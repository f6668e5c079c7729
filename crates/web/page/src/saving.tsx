// Buttons below a table or a drawing that save it.
import { saveDrawing, saveTable } from "./save";

export function SaveTable({ name }: { name: string }) {
  return <button type="button" class="more" onClick={(event) => saveTable(name, event.currentTarget.parentElement)}>Save as CSV</button>;
}

export function SaveDrawing({ name }: { name: string }) {
  return <button type="button" class="more" onClick={(event) => saveDrawing(name, event.currentTarget.parentElement)}>Save as SVG</button>;
}
