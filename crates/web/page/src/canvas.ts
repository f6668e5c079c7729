// The picture on the screen: what part of it is seen, pointers and keys, and the names drawn over it.
import { type Camera, Drawing } from "./draw";
import { type Layout, NO_PEER } from "./fabric";
import { ARROWS } from "./keys";
import { measured } from "./measure";
import { css, ground, ink, isPaper, quiet } from "./palette";
import { type Box, middle, Picture } from "./picture";
import { savePng, saveSvg } from "./save";
import { svgOf } from "./svg";
import { shortName } from "./words";

export interface Hovered {
  node: number;
  /** Among all ports; -1 where no port is under the pointer. */
  port: number;
  x: number;
  y: number;
  width: number;
}

interface Told {
  hover(found: Hovered | undefined): void;
  choose(guid: bigint, port: number): void;
}

/** Pixels for a unit at most. */
const ZOOM_MAX = 60;
/** Pixels for a unit from which on nodes have their names, and ports their numbers. */
const NAMED = 3.8;
const NUMBERED = 20;
/** Sizes of letters of a switch's name: as much of the room above it, in units, but no fewer and no more pixels. */
const [NAME_ROOM, NAME_MIN, NAME_MAX] = [1.8, 8, 11];
/** Least room for the name of a switch and of a host, and the size of a host's letters, pixels. */
const [SWITCH_NAME, HOST_NAME, HOST_SIZE] = [34, 48, 9];
/** Part of the window that the picture usually has, across and down: the rest are lists, switches and the timeline. */
const USUAL = { x: 0.76, y: 0.8 };
/** Windows that are narrower have everything one below the other, pixels; page.css has the same. */
const NARROW = 820;
/** Room around everything, pixels. */
const MARGIN = 14;
/** Whether the page has shown a picture. */
let seen = false;

/** Pixels for a unit at most where everything is shown, but on a wide screen: a small fabric needs no huge ports. */
const FIT_MAX = 14;
/** Lines drawn from the node under the pointer at most. */
const LINES_MAX = 300;

export class Canvas {
  private readonly drawing: Drawing;
  private readonly cells = document.createElement("canvas");
  private readonly names = document.createElement("canvas");
  private readonly size = new ResizeObserver(() => this.resized());
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private readonly ended = new AbortController();
  private picture: Picture | undefined;
  private layout: Layout | undefined;
  private camera: Camera = { x: 0, y: 0, zoom: 1 };
  private fitted = true;
  /** Size of the window for which nodes were arranged. */
  private arrangedFor = "";
  private moved = 0;
  private hovered: Hovered | undefined;
  private dark = true;
  private shades: Uint8Array = new Uint8Array(0);
  private frame = 0;

  constructor(private readonly holder: HTMLElement, private readonly told: Told) {
    for (const canvas of [this.cells, this.names]) {
      canvas.setAttribute("aria-hidden", "true");
      holder.append(canvas);
    }
    this.drawing = new Drawing(this.cells);
    const { signal } = this.ended;
    holder.addEventListener("wheel", (event) => this.wheel(event), { passive: false, signal });
    holder.addEventListener("pointerdown", (event) => this.down(event), { signal });
    holder.addEventListener("pointermove", (event) => this.move(event), { signal });
    holder.addEventListener("pointerup", (event) => this.up(event), { signal });
    holder.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId), { signal });
    holder.addEventListener("pointerleave", () => this.hover(undefined), { signal });
    holder.addEventListener("keydown", (event) => this.key(event), { signal });
    holder.addEventListener("blur", () => this.hover(undefined), { signal });
    this.size.observe(holder);
  }

  end(): void {
    this.ended.abort();
    this.size.disconnect();
    cancelAnimationFrame(this.frame);
    this.cells.remove();
    this.names.remove();
  }

  show(layout: Layout): void {
    // What is under the pointer has another number now.
    this.hover(undefined);
    this.layout = layout;
    this.arrange();
  }

  paint(shades: Uint8Array): void {
    this.shades = shades;
    this.drawing.paint(shades);
    this.redraw();
  }

  dress(dark: boolean): void {
    this.dark = dark;
    this.drawing.dress(dark);
    // A page that is printed waits for no frame.
    isPaper() ? this.draw() : this.redraw();
  }

  /** Shows everything. */
  fit(): void {
    this.fitted = true;
    const [w, h] = [this.holder.clientWidth, this.holder.clientHeight];
    if (this.picture !== undefined && w > 0 && h > 0) {
      const zoom = Math.min((w - 2 * MARGIN) / this.picture.w, (h - 2 * MARGIN) / this.picture.h, Math.max(FIT_MAX, w / 90));
      this.camera = { x: this.picture.w / 2, y: this.picture.h / 2, zoom };
    }
    this.redraw();
  }

  zoomBy(factor: number, x = this.holder.clientWidth / 2, y = this.holder.clientHeight / 2): void {
    const before = this.unit(x, y);
    const least = Math.min(this.camera.zoom, 0.2);
    this.camera.zoom = Math.min(ZOOM_MAX, Math.max(least, this.camera.zoom * factor));
    const after = this.unit(x, y);
    this.camera.x += before.x - after.x;
    this.camera.y += before.y - after.y;
    this.fitted = false;
    this.redraw();
  }

  /** Saves what is seen. */
  save(): void {
    this.draw();
    savePng("fabric", [this.cells, this.names]);
  }

  /** Saves the whole fabric as a drawing. */
  saveDrawing(): void {
    if (this.picture !== undefined) saveSvg("fabric", svgOf(this.picture, this.shades, this.dark));
  }

  private arrange(): void {
    const [w, h] = [this.holder.clientWidth, this.holder.clientHeight];
    if (this.layout === undefined || w === 0 || h === 0) return;
    const start = performance.now();
    this.picture = new Picture(this.layout, this.aspect());
    this.arrangedFor = windowSize();
    this.drawing.take(this.picture);
    this.drawing.paint(this.shades);
    this.fit();
    measured("weft-arrange", start);
  }

  /** How much wider than high the picture is to be: the same for a window whatever is open beside it, so that nodes stay where they are. */
  private aspect(): number {
    if (innerWidth <= NARROW) return this.holder.clientWidth / Math.max(1, this.holder.clientHeight);
    return (innerWidth * USUAL.x) / (innerHeight * USUAL.y);
  }

  private resized(): void {
    const ratio = devicePixelRatio;
    for (const canvas of [this.cells, this.names]) {
      canvas.width = Math.round(this.holder.clientWidth * ratio);
      canvas.height = Math.round(this.holder.clientHeight * ratio);
    }
    if (!this.fitted) this.draw();
    else if (this.arrangedFor !== windowSize()) this.arrange();
    else this.fit();
  }

  private redraw(): void {
    if (this.frame === 0) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.draw();
      });
    }
  }

  private draw(): void {
    const start = performance.now();
    this.drawing.draw(this.camera, devicePixelRatio);
    this.label();
    measured("weft-draw", start);
    if (!seen && this.picture !== undefined && this.shades.length > 0) {
      seen = true;
      performance.mark("weft-first");
    }
  }

  /** A place on the screen in units of the picture. */
  private unit(x: number, y: number): { x: number; y: number } {
    const [w, h] = [this.holder.clientWidth, this.holder.clientHeight];
    return { x: this.camera.x + (x - w / 2) / this.camera.zoom, y: this.camera.y + (y - h / 2) / this.camera.zoom };
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const box = this.holder.getBoundingClientRect();
    this.zoomBy(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0016)), event.clientX - box.x, event.clientY - box.y);
  }

  private down(event: PointerEvent): void {
    this.holder.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    this.moved = 0;
  }

  private move(event: PointerEvent): void {
    const before = this.pointers.get(event.pointerId);
    if (before === undefined) {
      const box = this.holder.getBoundingClientRect();
      this.hover(this.find(event.clientX - box.x, event.clientY - box.y));
      return;
    }
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    const now = { x: event.clientX, y: event.clientY };
    this.pointers.set(event.pointerId, now);
    this.moved += Math.hypot(now.x - before.x, now.y - before.y);
    if (others.length === 1) {
      const far = (at: { x: number; y: number }) => Math.hypot(at.x - others[0].x, at.y - others[0].y);
      const box = this.holder.getBoundingClientRect();
      this.zoomBy(far(now) / Math.max(1, far(before)), (now.x + others[0].x) / 2 - box.x, (now.y + others[0].y) / 2 - box.y);
    }
    const share = others.length === 0 ? 1 : 0.5;
    this.camera.x -= ((now.x - before.x) * share) / this.camera.zoom;
    this.camera.y -= ((now.y - before.y) * share) / this.camera.zoom;
    this.fitted = false;
    this.redraw();
  }

  private up(event: PointerEvent): void {
    this.pointers.delete(event.pointerId);
    if (this.moved > 5 || this.layout === undefined) return;
    const box = this.holder.getBoundingClientRect();
    const found = this.find(event.clientX - box.x, event.clientY - box.y);
    if (found !== undefined) {
      const isHost = !this.layout.isSwitch(found.node);
      const port = found.port < 0 || isHost || this.camera.zoom < 3 ? 0 : this.layout.number(found.port);
      this.told.choose(this.layout.guids[found.node], port);
    }
  }

  private find(x: number, y: number): Hovered | undefined {
    const at = this.unit(x, y);
    const found = this.picture?.at(at.x, at.y, 4 / this.camera.zoom);
    return found && { ...found, x, y, width: this.holder.clientWidth };
  }

  private hover(found: Hovered | undefined): void {
    this.holder.classList.toggle("pointing", found !== undefined);
    this.hovered = found;
    this.told.hover(found);
    this.redraw();
  }

  private key(event: KeyboardEvent): void {
    const step = 80 / this.camera.zoom;
    const move = ARROWS[event.key];
    if (move !== undefined && event.shiftKey) {
      this.step(...move);
    } else if (event.key === "Enter" && this.hovered !== undefined && this.layout !== undefined) {
      this.told.choose(this.layout.guids[this.hovered.node], 0);
    } else if (move !== undefined) {
      this.camera.x += step * move[0];
      this.camera.y += step * move[1];
      this.fitted = false;
      this.redraw();
    } else if (event.key === "+" || event.key === "=") {
      this.zoomBy(1.4);
    } else if (event.key === "-") {
      this.zoomBy(1 / 1.4);
    } else if (event.key === "0") {
      this.fit();
    } else {
      return;
    }
    event.preventDefault();
  }

  /** Chooses the node beside the one that is chosen, at first the one in the middle, and brings it into view. */
  private step(right: number, down: number): void {
    const { picture, camera, holder } = this;
    const node = this.hovered === undefined ? picture?.nearest(camera.x, camera.y) : (picture?.beside(this.hovered.node, right, down) ?? this.hovered.node);
    if (picture === undefined || node === undefined) return;
    const at = middle(picture.boxes[node]);
    const [w, h] = [holder.clientWidth, holder.clientHeight];
    const seen = Math.abs(at.x - camera.x) * camera.zoom < w / 2 && Math.abs(at.y - camera.y) * camera.zoom < h / 2;
    if (!seen) {
      [camera.x, camera.y] = [at.x, at.y];
      this.fitted = false;
    }
    this.hover({ node, port: -1, x: (at.x - camera.x) * camera.zoom + w / 2, y: (at.y - camera.y) * camera.zoom + h / 2, width: w });
  }

  /** Names of parts, of nodes where there is room, and the cables of the node under the pointer. */
  private label(): void {
    const context = this.names.getContext("2d");
    if (context === null) return;
    const ratio = devicePixelRatio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const [w, h] = [this.holder.clientWidth, this.holder.clientHeight];
    context.clearRect(0, 0, w, h);
    const { picture, layout, camera } = this;
    if (picture === undefined || layout === undefined) return;
    const x = (unit: number) => (unit - camera.x) * camera.zoom + w / 2;
    const y = (unit: number) => (unit - camera.y) * camera.zoom + h / 2;
    const letters = ink(this.dark);
    context.textBaseline = "alphabetic";
    context.fillStyle = quiet(this.dark);
    context.font = "12px system-ui, sans-serif";
    for (const part of picture.parts) {
      const [left, top] = [Math.max(x(part.x), 6), y(part.y) + Math.min(4 * camera.zoom - (camera.zoom >= NAMED ? this.nameSize() + 5 : 3), 13)];
      const room = (part.x + part.w) * camera.zoom - part.x * camera.zoom;
      if (top < 0 || top > h + 20 || left > w || x(part.x + part.w) < 0) continue;
      if (!part.isPod || (room > 46 && camera.zoom > 2)) context.fillText(part.name, left, Math.max(top, 12));
    }
    if (camera.zoom >= NAMED) {
      const seen: Box = { x: this.unit(0, 0).x, y: this.unit(0, 0).y, w: w / camera.zoom, h: h / camera.zoom };
      this.nameNodes(context, picture, layout, seen, x, y, letters);
    }
    this.lines(context, picture, layout, x, y, letters);
  }

  private nameNodes(context: CanvasRenderingContext2D, picture: Picture, layout: Layout, seen: Box, x: (unit: number) => number, y: (unit: number) => number, letters: string): void {
    const halo = css(ground(this.dark));
    for (const node of picture.within(seen)) {
      const box = picture.boxes[node];
      const room = box.w * this.camera.zoom;
      const isSwitch = layout.isSwitch(node);
      if (room < (isSwitch ? SWITCH_NAME : HOST_NAME)) continue;
      context.font = `${isSwitch ? this.nameSize() : HOST_SIZE}px system-ui, sans-serif`;
      const text = clipped(context, shortName(layout, node), room);
      // A switch has its name above it, a host in its middle.
      const [left, base] = isSwitch ? [x(box.x), y(box.y) - 3] : [x(box.x + box.w / 2), y(box.y + box.h / 2) + HOST_SIZE / 3];
      context.textAlign = isSwitch ? "start" : "center";
      context.lineWidth = 3;
      context.strokeStyle = halo;
      context.strokeText(text, left, base);
      context.fillStyle = letters;
      context.fillText(text, left, base);
      context.textAlign = "start";
      if (layout.isSwitch(node) && this.camera.zoom >= NUMBERED) this.number(context, picture, layout, node, x, y);
    }
  }

  /** Size of the letters of a switch's name, pixels. */
  private nameSize(): number {
    return Math.min(NAME_MAX, Math.max(NAME_MIN, this.camera.zoom * NAME_ROOM));
  }

  /** Numbers of the ports of a switch. */
  private number(context: CanvasRenderingContext2D, picture: Picture, layout: Layout, node: number, x: (unit: number) => number, y: (unit: number) => number): void {
    context.font = "10px system-ui, sans-serif";
    context.textAlign = "center";
    for (let port = layout.first[node]; port < layout.first[node + 1]; port++) {
      const cell = picture.cell(port);
      context.fillText(String(layout.number(port)), x(cell.x + 0.5), y(cell.y + 0.5) + 4);
    }
    context.textAlign = "start";
  }

  private lines(context: CanvasRenderingContext2D, picture: Picture, layout: Layout, x: (unit: number) => number, y: (unit: number) => number, letters: string): void {
    const found = this.hovered;
    if (found === undefined || found.node >= layout.nodes) return;
    const box = picture.boxes[found.node];
    context.strokeStyle = letters;
    context.lineWidth = 1.5;
    context.strokeRect(x(box.x) - 2, y(box.y) - 2, box.w * this.camera.zoom + 4, box.h * this.camera.zoom + 4);
    const ports = found.port >= 0 ? [found.port] : [...Array(layout.first[found.node + 1] - layout.first[found.node]).keys()].map((at) => at + layout.first[found.node]);
    context.globalAlpha = ports.length > 1 ? 0.35 : 0.9;
    context.beginPath();
    for (const port of ports.slice(0, LINES_MAX)) {
      const peer = layout.peers[port];
      if (peer === NO_PEER) continue;
      const [a, b] = [picture.cell(port), picture.cell(peer)];
      const [ax, ay, bx, by] = [x(a.x + 0.5), y(a.y + 0.5), x(b.x + 0.5), y(b.y + 0.5)];
      context.moveTo(ax, ay);
      context.bezierCurveTo(ax, (ay + by) / 2, bx, (ay + by) / 2, bx, by);
    }
    context.stroke();
    context.globalAlpha = 1;
  }
}

function windowSize(): string {
  return `${innerWidth} ${innerHeight}`;
}

/** As much of a text as there is room for. */
function clipped(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  const letters = [...text];
  while (letters.length > 1 && context.measureText(`${letters.join("")}…`).width > room) letters.pop();
  return `${letters.join("")}…`;
}
