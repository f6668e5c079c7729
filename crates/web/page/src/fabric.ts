// The fabric as the daemon sends it: columns of bytes, one byte for each port, in the order of a layout.

/** Where a cable has no other end. */
export const NO_PEER = 0xffffffff;
/** Tier of a switch without a way to hosts. */
export const NO_TIER = 255;
/** In place of a share that is not known. */
export const UNKNOWN = 255;
/** Shares are in units of 0.5 %. */
export const WHOLE = 200;

/** States of a port's link, as in ColumnKind of the API. */
export const State = { Empty: 0, Active: 1, Rising: 2, Lost: 3, Disabled: 4, Unused: 5, Gone: 6 } as const;
/** What is wrong with a port, as bits. */
export const Mark = { Slow: 1, Errors: 2, Flapping: 4, OutOfUse: 8, Drained: 16, Other: 32 } as const;
/** Columns by the number of their kind. */
export const Kind = { State: 1, Marks: 2, Load: 3, Wait: 4, Errors: 5 } as const;
const KINDS = [Kind.State, Kind.Marks, Kind.Load, Kind.Wait, Kind.Errors];

/** The parts of GetLayoutResponse that are read here. */
export interface LayoutMessage {
  layout: string;
  guids: Uint8Array;
  lids: Uint8Array;
  tiers: Uint8Array;
  pods: Uint8Array;
  ports: Uint8Array;
  peers: Uint8Array;
  names: string[];
}

/** The parts of a Column that are read here. */
export interface ColumnMessage {
  kind: number;
  values: Uint8Array;
  places: Uint8Array;
  changed: Uint8Array;
}

/** Nodes and cables: node `n` has the ports from `first[n]` to before `first[n + 1]`. */
export class Layout {
  readonly token: string;
  readonly guids: BigUint64Array;
  readonly lids: Uint32Array;
  readonly tiers: Uint8Array;
  readonly pods: Uint16Array;
  readonly names: string[];
  readonly peers: Uint32Array;
  readonly first: Uint32Array;
  /** The node of each port. */
  readonly nodeOf: Uint32Array;
  private readonly byGuid = new Map<bigint, number>();

  /** Throws where the parts do not fit together. */
  constructor(message: LayoutMessage) {
    const nodes = message.tiers.length;
    this.token = message.layout;
    this.guids = new BigUint64Array(exactly("guids", message.guids, 8 * nodes));
    this.lids = new Uint32Array(exactly("lids", message.lids, 4 * nodes));
    this.tiers = message.tiers;
    this.pods = new Uint16Array(exactly("pods", message.pods, 2 * nodes));
    exactly("ports", message.ports, nodes);
    if (message.names.length !== nodes) {
      throw new Error(`layout: ${message.names.length} names of ${nodes} nodes`);
    }
    this.names = message.names;
    this.first = new Uint32Array(nodes + 1);
    for (let node = 0; node < nodes; node++) {
      this.first[node + 1] = this.first[node] + message.ports[node];
      this.byGuid.set(this.guids[node], node);
    }
    const ports = this.first[nodes];
    this.peers = new Uint32Array(exactly("peers", message.peers, 4 * ports));
    this.nodeOf = new Uint32Array(ports);
    for (let node = 0; node < nodes; node++) {
      this.nodeOf.fill(node, this.first[node], this.first[node + 1]);
    }
    for (let port = 0; port < ports; port++) {
      const peer = this.peers[port];
      if (peer !== NO_PEER && (peer >= ports || this.peers[peer] !== port)) {
        throw new Error(`layout: the cable of port ${port} has one end`);
      }
    }
  }

  get nodes(): number {
    return this.tiers.length;
  }

  get ports(): number {
    return this.peers.length;
  }

  find(guid: bigint): number | undefined {
    return this.byGuid.get(guid);
  }

  isSwitch(node: number): boolean {
    return this.tiers[node] !== 0;
  }

  /** Number of a port on its node, from 1. */
  number(port: number): number {
    return port - this.first[this.nodeOf[port]] + 1;
  }
}

/** The columns of now, by kind. */
export class Columns {
  private readonly byKind: Record<number, Uint8Array> = {};

  constructor(private readonly ports: number) {
    for (const kind of KINDS) {
      this.byKind[kind] = new Uint8Array(ports).fill(kind < Kind.Load ? 0 : UNKNOWN);
    }
  }

  get(kind: number): Uint8Array {
    return this.byKind[kind];
  }

  /** Takes a change over; throws where it does not fit, and has then changed nothing. */
  take(column: ColumnMessage): void {
    const own = this.byKind[column.kind];
    if (own === undefined) {
      // Of a newer daemon.
      return;
    }
    if (column.values.length > 0) {
      exactly("column", column.values, this.ports);
      own.set(column.values);
      return;
    }
    const places = new Uint32Array(exactly("places", column.places, 4 * column.changed.length));
    for (const place of places) {
      if (place >= this.ports) {
        throw new Error(`column ${column.kind}: port ${place} of ${this.ports}`);
      }
    }
    places.forEach((place, at) => {
      own[place] = column.changed[at];
    });
  }
}

/** A copy of bytes, which are of this length, as a buffer that numbers of any size can be read from. */
function exactly(what: string, bytes: Uint8Array, length: number): ArrayBuffer {
  if (bytes.length !== length) {
    throw new Error(`${what}: ${bytes.length} bytes, expected ${length}`);
  }
  return bytes.slice().buffer as ArrayBuffer;
}
