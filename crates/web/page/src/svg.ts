// The whole fabric as a drawing that keeps its sharpness at any size.
import { FRAMED, shapeOf } from "./draw";
import { colorOf, css, ground, ink } from "./palette";
import { isWrong, KINDS, Shade } from "./kinds";
import type { Box, Picture } from "./picture";
import { fitting } from "./words";

/** Sizes of letters of titles and of switches, and how wide one is to its height. */
const [TITLE, NAME, LETTER] = [2, 1.1, 0.62];
/** Room around everything, and pixels for a unit where nobody asks for another size. */
const [MARGIN, PIXELS] = [3, 8];

/** A port's shape within its cell, as the picture on the screen has it. */
function shapeAt({ x, y, w, h }: Box, shape: number): string {
  const round = (number: number) => Number(number.toFixed(2));
  const [left, top, wide, high] = [x + 0.1, y + 0.1, w - 0.2, h - 0.2].map(round);
  const [middle, half] = [round(x + w / 2), round(y + h / 2)];
  switch (shape) {
    case 1:
      return `M${middle} ${top}L${round(left + wide)} ${half}L${middle} ${round(top + high)}L${left} ${half}Z`;
    case 2:
      return `M${left} ${top}h${wide}v${high}h${-wide}ZM${round(left + 0.2)} ${round(top + 0.2)}v${round(high - 0.4)}h${round(wide - 0.4)}v${round(0.4 - high)}Z`;
    case 3:
      return `M${left} ${top}h.2L${middle} ${round(half - 0.2)}L${round(left + wide - 0.2)} ${top}h.2v.2L${round(middle + 0.2)} ${half}L${round(left + wide)} ${round(top + high - 0.2)}v.2h-.2L${middle} ${round(half + 0.2)}L${round(left + 0.2)} ${round(top + high)}h-.2v-.2L${round(middle - 0.2)} ${half}L${left} ${round(top + 0.2)}Z`;
    case 4:
      return `M${middle} ${top}L${round(left + wide)} ${round(top + high)}L${left} ${round(top + high)}Z`;
    case 5:
      return `M${round(middle - 0.14)} ${top}h.28V${round(half - 0.14)}H${round(left + wide)}v.28H${round(middle + 0.14)}V${round(top + high)}h-.28V${round(half + 0.14)}H${left}v-.28H${round(middle - 0.14)}Z`;
    case 6:
      return `${shapeAt({ x, y, w, h }, 1)}${shapeAt({ x: x + w / 4, y: y + h / 4, w: w / 2, h: h / 2 }, 1)}`;
    case 7:
      return `M${left} ${round(half - 0.14)}h${wide}v.28h${-wide}Z`;
    case 8:
      return `M${left} ${top}h${wide}L${middle} ${round(top + high)}Z`;
    case 10:
      return `M${left} ${top}h${wide}L${left} ${round(top + high)}h${wide}Z`;
    default:
      return `M${left} ${top}h${wide}v${high}h${-wide}Z`;
  }
}

/** A text that a drawing may have. */
function text(words: string): string {
  const known = words.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD");
  return known.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** The drawing: a path for each kind of port, named; tiles with the names of their switches, and titles. */
export function svgOf(picture: Picture, shades: Uint8Array, dark: boolean): string {
  const { layout, w, h } = picture;
  const paths = new Map<number, string[]>();
  shades.forEach((shade, port) => {
    const own = paths.get(shade) ?? [];
    paths.set(shade, own);
    own.push(shapeAt(picture.cell(port), shapeOf(shade)));
  });
  const fill = (shade: number) => css(colorOf(shade, dark));
  const rect = ({ x, y, w, h }: Box, shade: number) => `<rect x="${x}" y="${y}" width="${w}" height="${h}" fill="${fill(shade)}"/>`;
  const label = (x: number, y: number, size: number, words: string, room: number) => {
    const letter = size * LETTER;
    return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" font-size="${size}">${text(fitting(words, Math.max(2 * letter, room), letter))}</text>`;
  };
  const frame = (shade: number) => (shapeOf(shade) === FRAMED ? ` stroke="${fill(Shade.Drained)}" stroke-width=".18"` : "");
  const nameOf = (shade: number) => names.get(shapeOf(shade) === FRAMED ? Shade.Drained : shade) ?? "active";
  const names = new Map(KINDS.map((kind) => [kind.shade, kind.name]));
  const switches = picture.boxes.flatMap((box, node) => (layout.isSwitch(node) ? [{ box, name: layout.names[node] }] : []));
  const side = (units: number) => ((units + 2 * MARGIN) * PIXELS).toFixed(0);
  const view = [-MARGIN, -MARGIN, w + 2 * MARGIN, h + 2 * MARGIN].map((number) => number.toFixed(1));
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${view.join(" ")}" width="${side(w)}" height="${side(h)}" font-family="system-ui, sans-serif" fill="${ink(dark)}">`,
    `<rect x="${view[0]}" y="${view[1]}" width="${view[2]}" height="${view[3]}" fill="${css(ground(dark))}"/>`,
    ...picture.parts.filter((part) => part.isPod).map((part) => rect(part, Shade.Pod)),
    ...switches.map(({ box }) => rect(box, Shade.Tile)),
    // What is wrong is before everything else.
    ...[...paths].sort(([a], [b]) => Number(isWrong(a)) - Number(isWrong(b))).map(([shade, own]) => `<path fill="${fill(shade)}"${frame(shade)} fill-rule="evenodd" d="${own.join("")}"><title>${nameOf(shade)}: ${own.length}</title></path>`),
    ...picture.parts.map((part) => label(part.x + 0.4, part.y + TITLE, TITLE, part.name, Math.max(part.w, 40))),
    ...switches.map(({ box, name }) => label(box.x, box.y - 0.3, NAME, name, box.w)),
    "</svg>",
  ];
  return `${lines.join("\n")}\n`;
}
