// Where each node and port is in the picture of the whole fabric, in units of one port's cell.
import Flatbush from "flatbush";
import { Layout, NO_PEER, NO_TIER } from "./fabric";

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** A part of the picture that has a name. */
export interface Part extends Box {
  name: string;
  /** Whether it is a pod, which has a ground of its own. */
  isPod: boolean;
}

// All of these are whole cells, so that a port's cell is found from a place by its numbers alone.
/** Cells of a switch's tile side by side. */
const TILE_WIDE = 12;
/** Between tiles side by side. */
const GAP = 2;
/** Between rows of tiles: room for a name, and more than between a tile and its hosts. */
const ROW_GAP = 2;
/** Between a tile and its hosts, between pods, and between tiers. */
const HOST_GAP = 1;
const POD_GAP = 5;
const TIER_GAP = 7;
/** How much farther away a node is that is to the side of a direction. */
const ASIDE = 3;
/** Room for the name above a tier or a pod. */
const TITLE = 4;

/** A switch and the hosts below it. */
interface Tile {
  node: number;
  hosts: number[];
  w: number;
  h: number;
}

export class Picture {
  /** Of each node. */
  readonly boxes: Box[];
  readonly parts: Part[] = [];
  readonly w: number;
  readonly h: number;
  private readonly wide: number[];
  private readonly index: Flatbush | undefined;

  /** For a window that is so much wider than high. */
  constructor(readonly layout: Layout, aspect: number) {
    const tiles = tilesOf(layout);
    const shape = shapeOf(layout, tiles, aspect);
    this.boxes = new Array<Box>(layout.nodes);
    this.wide = new Array<number>(layout.nodes);
    const put = (node: number, box: Box, wide: number) => {
      this.boxes[node] = box;
      this.wide[node] = wide;
    };
    ({ w: this.w, h: this.h } = arrange(layout, tiles, shape, put, this.parts));
    if (layout.nodes > 0) {
      this.index = new Flatbush(layout.nodes);
      for (const box of this.boxes) {
        this.index.add(box.x, box.y, box.x + box.w, box.y + box.h);
      }
      this.index.finish();
    }
  }

  /** The cell of a port. */
  cell(port: number): Box {
    const node = this.layout.nodeOf[port];
    const [box, at, wide] = [this.boxes[node], port - this.layout.first[node], this.wide[node]];
    return { x: box.x + (at % wide), y: box.y + Math.floor(at / wide), w: 1, h: 1 };
  }

  /** The node at a place, and its port there, -1 between ports. */
  at(x: number, y: number, reach: number): { node: number; port: number } | undefined {
    const found = this.index?.neighbors(x, y, 1, reach)[0];
    if (found === undefined) {
      return undefined;
    }
    const box = this.boxes[found];
    const [column, row, wide] = [Math.floor(x - box.x), Math.floor(y - box.y), this.wide[found]];
    const port = this.layout.first[found] + row * wide + column;
    const isIn = column >= 0 && column < wide && row >= 0 && port < this.layout.first[found + 1];
    const only = this.layout.first[found + 1] - this.layout.first[found] === 1;
    return { node: found, port: only ? this.layout.first[found] : isIn ? port : -1 };
  }

  /** The node next to one in a direction, of which one part is 0; none at the edge. */
  beside(node: number, right: number, down: number): number | undefined {
    const from = middle(this.boxes[node]);
    let [best, least]: [number | undefined, number] = [undefined, Infinity];
    this.boxes.forEach((box, other) => {
      const to = middle(box);
      const [x, y] = [to.x - from.x, to.y - from.y];
      const ahead = x * right + y * down;
      // What is straight ahead is nearer than what is as far away, and to the side.
      const far = ahead + ASIDE * Math.abs(x * down + y * right);
      if (ahead > 0 && far < least) [best, least] = [other, far];
    });
    return best;
  }

  /** The node nearest to a place; none in an empty fabric. */
  nearest(x: number, y: number): number | undefined {
    return this.index?.neighbors(x, y, 1)[0];
  }

  /** Nodes within a box. */
  within(box: Box): number[] {
    return this.index?.search(box.x, box.y, box.x + box.w, box.y + box.h) ?? [];
  }
}

export function middle(box: Box): { x: number; y: number } {
  return { x: box.x + box.w / 2, y: box.y + box.h / 2 };
}

interface Tiles {
  all: Tile[];
  /** Hosts without a switch. */
  alone: number[];
}

function tilesOf(layout: Layout): Tiles {
  const tiles: Tile[] = [];
  const byNode = new Map<number, Tile>();
  const alone: number[] = [];
  for (let node = 0; node < layout.nodes; node++) {
    if (layout.isSwitch(node)) {
      const ports = layout.first[node + 1] - layout.first[node];
      const w = Math.max(1, Math.min(ports, TILE_WIDE));
      const tile = { node, hosts: [], w, h: Math.max(1, Math.ceil(ports / TILE_WIDE)) };
      tiles.push(tile);
      byNode.set(node, tile);
      continue;
    }
    const peer = layout.peers.subarray(layout.first[node], layout.first[node + 1]).find((peer) => peer !== NO_PEER);
    const tile = peer === undefined ? undefined : byNode.get(layout.nodeOf[peer]);
    (tile?.hosts ?? alone).push(node);
  }
  for (const tile of tiles) {
    if (tile.hosts.length > 0) {
      tile.w = Math.max(tile.w, Math.min(tile.hosts.length, TILE_WIDE));
      tile.h += HOST_GAP + Math.ceil(tile.hosts.length / TILE_WIDE);
    }
  }
  return { all: tiles, alone };
}

type Put = (node: number, box: Box, wide: number) => void;

/** How wide everything is, how many pods are side by side, and how wide the inside of each is. */
interface Shape {
  width: number;
  across: number;
  inner: number;
}

/** The shape that fills a window best, of those with whole rows of tiles. */
function shapeOf(layout: Layout, tiles: Tiles, aspect: number): Shape {
  const rows = groups(tiles.all, (tile) => layout.pods[tile.node] * 256 + layout.tiers[tile.node]);
  const flat: Row[] = [];
  const inPods: Row[] = [];
  const pods = new Set<number>();
  for (const [key, row] of rows) {
    const pod = key >> 8;
    const size = { count: row.length, w: Math.max(...row.map((tile) => tile.w)) + GAP, h: Math.max(...row.map((tile) => tile.h)) + ROW_GAP };
    if (pod === 0) flat.push(size);
    else if (pods.size === 0 || pods.has(pod)) inPods.push(size);
    if (pod !== 0 && pods.size === 0) pods.add(pod);
  }
  const many = new Set(tiles.all.map((tile) => layout.pods[tile.node]).filter((pod) => pod !== 0)).size;
  const high = (row: Row, width: number) => Math.ceil(row.count / Math.max(1, Math.floor((width + GAP) / row.w))) * row.h;
  const shapes: Shape[] = [];
  const longest = Math.max(0, ...inPods.map((row) => row.count));
  for (let across = 1; across <= Math.min(many, 16); across++) {
    for (let fold = 1; fold <= 6; fold++) {
      const inner = Math.max(...inPods.map((row) => Math.ceil(longest / fold) * row.w)) - GAP;
      shapes.push({ across, inner, width: across * (inner + 2 * GAP + POD_GAP) - POD_GAP });
    }
  }
  const widest = Math.max(1, ...flat.map((row) => row.w));
  for (let count = 1; many === 0 && count <= Math.max(1, ...flat.map((row) => row.count)); count = Math.ceil(count * 1.04 + 0.5)) {
    shapes.push({ across: 1, inner: 0, width: count * widest - GAP });
  }
  const fill = ({ width, across, inner }: Shape) => {
    const tiersHigh = flat.reduce((sum, row) => sum + TITLE + high(row, width) + TIER_GAP, 0);
    const podHigh = inPods.reduce((sum, row) => sum + high(row, inner) + 2 * GAP, TITLE + POD_GAP);
    const whole = tiersHigh + (many === 0 ? 0 : Math.ceil(many / across) * podHigh);
    return Math.min(aspect / width, 1 / whole);
  };
  const first = shapes[0] ?? { width: 6 * TILE_WIDE, across: 1, inner: 0 };
  return shapes.reduce((best, next) => (fill(next) > fill(best) ? next : best), first);
}

/** Tiles of one kind, with the room around them. */
interface Row {
  count: number;
  w: number;
  h: number;
}

/** Puts everything where it belongs. */
function arrange(layout: Layout, tiles: Tiles, shape: Shape, put: Put, parts: Part[]): { w: number; h: number } {
  const { width, across, inner } = shape;
  let [w, y] = [0, 0];
  const tiers = groups(tiles.all.filter((tile) => layout.pods[tile.node] === 0), (tile) => layout.tiers[tile.node]);
  for (const [tier, own] of [...tiers].sort(([a], [b]) => order(b) - order(a))) {
    const box = flow(layout, own, width, 0, y + TITLE, put);
    const hosts = own.reduce((sum, tile) => sum + tile.hosts.length, 0);
    parts.push({ name: tierName(tier, own.length, hosts), isPod: false, x: 0, y, w: box.w, h: box.h + TITLE });
    [w, y] = [Math.max(w, box.w), y + TITLE + box.h + TIER_GAP];
  }
  const pods = groups(tiles.all.filter((tile) => layout.pods[tile.node] !== 0), (tile) => layout.pods[tile.node]);
  let [x, high, column] = [0, 0, 0];
  for (const [pod, own] of pods) {
    if (column === across) {
      [x, y, high, column] = [0, y + high + POD_GAP, 0, 0];
    }
    const byTier = groups(own, (tile) => layout.tiers[tile.node]);
    let [top, wide] = [y + TITLE, 0];
    for (const [, tier] of [...byTier].sort(([a], [b]) => b - a)) {
      const box = flow(layout, tier, inner, x + GAP, top, put);
      [top, wide] = [top + box.h + 2 * GAP, Math.max(wide, box.w)];
    }
    const box = { x, y, w: wide + 2 * GAP, h: top - y };
    parts.push({ name: `Pod ${pod}`, isPod: true, ...box });
    [x, high, column] = [x + box.w + POD_GAP, Math.max(high, box.h), column + 1];
    w = Math.max(w, x - POD_GAP);
  }
  y += high > 0 ? high + TIER_GAP : 0;
  if (tiles.alone.length > 0) {
    const wide = Math.max(TILE_WIDE, Math.floor(width));
    parts.push({ name: `Hosts without a known cable: ${tiles.alone.length}`, isPod: false, x: 0, y, w: wide, h: TITLE });
    y += TITLE;
    let at = 0;
    for (const host of tiles.alone) {
      const ports = layout.first[host + 1] - layout.first[host];
      put(host, { x: at % wide, y: y + Math.floor(at / wide), w: Math.max(1, ports), h: 1 }, Math.max(1, ports));
      at += Math.max(1, ports);
    }
    [w, y] = [Math.max(w, Math.min(wide, at)), y + Math.ceil(at / wide) + TIER_GAP];
  }
  return { w: Math.max(w, 1), h: Math.max(y - TIER_GAP, 1) };
}

/** Switches without a way to hosts come last. */
function order(tier: number): number {
  return tier === NO_TIER ? -1 : tier;
}

function tierName(tier: number, switches: number, hosts: number): string {
  const many = (count: number, what: string) => `${count.toLocaleString("en")} ${count === 1 ? what : what === "switch" ? "switches" : `${what}s`}`;
  const below = hosts > 0 ? `, with ${many(hosts, "host")} below` : "";
  return `${tier === NO_TIER ? "No way to hosts" : `Tier ${tier}`}: ${many(switches, "switch")}${below}`;
}

/** Tiles in rows of a width; returns the room that they take. */
function flow(layout: Layout, tiles: Tile[], width: number, left: number, top: number, put: Put): { w: number; h: number } {
  let [x, y, high, widest] = [left, top, 0, 0];
  for (const tile of tiles) {
    if (x > left && x + tile.w > left + width + 0.01) {
      [x, y, high] = [left, y + high + ROW_GAP, 0];
    }
    const ports = layout.first[tile.node + 1] - layout.first[tile.node];
    const [wide, rows] = [Math.max(1, Math.min(ports, TILE_WIDE)), Math.max(1, Math.ceil(ports / TILE_WIDE))];
    put(tile.node, { x, y, w: wide, h: rows }, wide);
    tile.hosts.forEach((host, at) => {
      const box = { x: x + (at % TILE_WIDE), y: y + rows + HOST_GAP + Math.floor(at / TILE_WIDE), w: 1, h: 1 };
      put(host, box, 1);
    });
    [x, high] = [x + tile.w + GAP, Math.max(high, tile.h)];
    widest = Math.max(widest, x - GAP - left);
  }
  return { w: widest, h: y + high - top };
}

function groups<T>(all: T[], key: (one: T) => number): Map<number, T[]> {
  const out = new Map<number, T[]>();
  for (const one of all) {
    const own = out.get(key(one));
    own === undefined ? out.set(key(one), [one]) : own.push(one);
  }
  return out;
}
