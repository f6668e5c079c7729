// Finds nodes by name, GUID, LID or a point of `weft`, ports by `NAME:PORT`, and virtual fabrics and multicast groups.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { go } from "./address";
import type { Layout } from "./fabric";
import { views } from "./lazy";
import { type Named, namedBy, readNamed } from "./named";
import { layout } from "./store";
import { guidText } from "./words";

const FOUND_MAX = 12;
/** Time for which a text has to rest before the daemon is asked what it means, milliseconds. */
const REST = 150;

export interface Found {
  node: number;
  port: number;
  why: string;
}

type Choice = (Found & { name: string }) | Named;

/** A point of `weft` that the layout can tell of: what names the nodes, and the port of them. */
const POINT = /^(node|nodeguid):(.+?)(?::port:(\d{1,3}))?$/;

/** A node or port as it is typed. */
function typedName({ name, port }: Found & { name: string }): string {
  return port > 0 ? `${name}:${port}` : name;
}

/** What a text may mean, the best first. */
export function search(nodes: Layout, text: string, most = FOUND_MAX): Found[] {
  const trimmed = text.trim().toLowerCase();
  if (trimmed === "") return [];
  const found: Found[] = [];
  const add = (node: number | undefined, port: number, why: string) => {
    if (node === undefined || node < 0 || found.length >= most) return;
    const ports = nodes.first[node + 1] - nodes.first[node];
    if (port <= ports && !found.some((one) => one.node === node && one.port === port)) found.push({ node, port, why });
  };
  const names = (word: string, port: number) => {
    const ranked: number[][] = [[], [], []];
    for (let node = 0; node < nodes.nodes; node++) {
      const name = nodes.names[node].toLowerCase();
      const rank = name === word ? 0 : name.startsWith(word) ? 1 : name.includes(word) ? 2 : 3;
      if (rank < 3 && ranked[rank].length < most) ranked[rank].push(node);
    }
    ranked.flat().forEach((node) => add(node, port, guidText(nodes.guids[node])));
  };
  const [, keyword, value = "", number = "0"] = POINT.exec(trimmed) ?? [];
  if (keyword === "node") names(unquoted(value), Number(number));
  if (keyword === "nodeguid" && /^(0x[0-9a-f]{1,16}|\d{1,20})$/.test(value)) add(nodes.find(BigInt(value)), Number(number), "GUID");
  const lid = lidOf(trimmed);
  if (lid !== undefined) add(nodes.lids.indexOf(lid.lid), lid.port, `LID ${lid.lid}`);
  const [, wanted = "", portText] = /^(.*?)(?:(?:[: ]port)?[: ](\d{1,3}))?$/.exec(trimmed) ?? [];
  if (/^0x[0-9a-f]{8,16}$/.test(wanted)) add(nodes.find(BigInt(wanted)), Number(portText ?? 0), "GUID");
  names(trimmed, 0);
  if (portText !== undefined && wanted !== "") names(wanted.trim(), Number(portText));
  return found;
}

/** A LID, alone or as a point, with the port of its node that is meant; 0 for the whole node. */
function lidOf(text: string): { lid: number; port: number } | undefined {
  const [, number, port = "0"] = /^(?:lid[: ]?)?(0x[0-9a-f]{1,6}|\d{1,7})(?::node|:port:(\d{1,3}))?$/.exec(text) ?? [];
  return number === undefined || Number(number) === 0 ? undefined : { lid: Number(number), port: Number(port) };
}

/** A name as a point has it: in double quotes, or with a backslash before each colon. */
function unquoted(name: string): string {
  return name.replace(/^"(.*)"$/, "$1").replaceAll("\\:", ":");
}

/** What the daemon alone can tell of a text: its point, and the port that is meant of the nodes which that names. */
export interface Asked {
  focus: string;
  port: number;
  why: string;
}

/** The point to ask the daemon for: a port GUID, a LID that is no base LID, a pattern; none where the layout has all that it can mean. */
export function askedOf(nodes: Layout, text: string): Asked | undefined {
  const trimmed = text.trim();
  const lid = lidOf(trimmed.toLowerCase());
  if (lid !== undefined) return nodes.lids.includes(lid.lid) ? undefined : { focus: `lid:${lid.lid}`, port: lid.port, why: `LID ${lid.lid}` };
  const [, focus, keyword, port = "0"] = /^((gid|portguid|systemguid|nodepat|nodetype|sm)\b.*?)(?::port:(\d{1,3}))?$/.exec(trimmed) ?? [];
  if (focus === undefined || (keyword === "sm") !== (focus === "sm")) return undefined;
  return { focus, port: Number(port), why: focus };
}

/** The search of the whole page: leads to what is chosen. */
export function SearchBox() {
  const choose = (guid: bigint, port: number) => go({ kind: "focus", guid, port });
  return <Picker id="found" label="Search for a node or port by name, GUID, LID or point, a virtual fabric or a multicast group" hint="Name, GUID, LID, name:port  ( / )" slash={true} choose={choose} others={namedBy} />;
}

interface PickerProps {
  /** Of the list of what is found. */
  id: string;
  label: string;
  hint: string;
  /** Whether what is chosen stays in the field, and a whole name is chosen as soon as it is typed. */
  keeps?: boolean;
  /** Whether the key / leads here. */
  slash: boolean;
  choose(guid: bigint, port: number): void;
  /** What a text may mean besides nodes and ports; a choice leads there. */
  others?(text: string, most: number): Named[];
}

/** A field in which a node or port is named, with what that may mean below. */
export function Picker(props: PickerProps) {
  const text = useSignal("");
  const open = useSignal(false);
  const at = useSignal(0);
  const field = useRef<HTMLInputElement>(null);
  /** What the daemon has said of the text. */
  const told = useSignal<Found[]>([]);
  useSignalEffect(() => {
    const [nodes, module] = [layout.value, views.module.value];
    const asked = nodes && askedOf(nodes, text.value);
    told.value = [];
    if (nodes === undefined || module === undefined || asked === undefined) return undefined;
    const ended = new AbortController();
    const timer = setTimeout(async () => {
      const found = await module.pointed(nodes, asked, FOUND_MAX, ended.signal);
      if (!ended.signal.aborted) told.value = found;
    }, REST);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  });
  const found = useComputed(() => {
    const nodes = layout.value;
    const known = nodes === undefined ? [] : [...told.value, ...search(nodes, text.value)];
    const own: Choice[] = nodes === undefined ? [] : known.map((one) => ({ ...one, name: nodes.names[one.node] }));
    const others = props.others?.(text.value, FOUND_MAX) ?? [];
    // What is called so exactly comes first.
    const exact = others.filter((one) => one.name.toLowerCase() === text.value.trim().toLowerCase());
    return [...exact, ...own, ...others.filter((one) => !exact.includes(one))].slice(0, FOUND_MAX);
  });
  useEffect(() => {
    const slash = (event: KeyboardEvent) => {
      const inField = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (props.slash && event.key === "/" && !inField) {
        event.preventDefault();
        field.current?.focus();
      }
    };
    addEventListener("keydown", slash);
    return () => removeEventListener("keydown", slash);
  }, []);
  const take = (one: Choice) => {
    if ("view" in one) go(one.view);
    else if (layout.value !== undefined) props.choose(layout.value.guids[one.node], one.port);
  };
  const choose = (one: Choice | undefined) => {
    if (one === undefined) return;
    take(one);
    text.value = props.keeps && "port" in one ? typedName(one) : "";
    open.value = false;
    field.current?.blur();
  };
  const key = (event: KeyboardEvent) => {
    const last = found.value.length - 1;
    if (event.key === "ArrowDown") at.value = Math.min(last, at.value + 1);
    else if (event.key === "ArrowUp") at.value = Math.max(0, at.value - 1);
    else if (event.key === "Enter") choose(found.value[Math.max(0, Math.min(last, at.value))]);
    else if (event.key === "Escape") field.current?.blur();
    else return;
    event.preventDefault();
  };
  const only = props.keeps && found.value.length === 1 ? found.value[0] : undefined;
  const isTaken = only !== undefined && "port" in only && typedName(only).toLowerCase() === text.value.trim().toLowerCase();
  const isOpen = open.value && text.value.trim() !== "" && !isTaken;
  return (
    <div class="search">
      <input
        ref={field}
        type="text"
        inputMode="search"
        autoComplete="off"
        spellcheck={false}
        list={undefined}
        placeholder={props.hint}
        aria-label={props.label}
        role="combobox"
        aria-expanded={isOpen && found.value.length > 0}
        aria-controls={props.id}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && found.value.length > 0 ? `${props.id}${at.value}` : undefined}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          at.value = 0;
          open.value = true;
          const whole = found.value.find((one) => "port" in one && typedName(one).toLowerCase() === text.value.trim().toLowerCase());
          if (props.keeps && whole !== undefined) take(whole);
        }}
        onFocus={() => {
          open.value = true;
          if (props.others !== undefined) void readNamed();
        }}
        onBlur={() => (open.value = false)}
        onKeyDown={key}
      />
      {isOpen && found.value.length === 0 && <p class="found none" role="status">nothing is called that</p>}
      {isOpen && found.value.length > 0 && (
        <ul id={props.id} class="found" role="listbox" aria-label="Found">
          {found.value.map((one, row) => (
            <li
              key={row}
              id={`${props.id}${row}`}
              role="option"
              aria-selected={row === at.value}
              class={row === at.value ? "on" : ""}
              onPointerDown={(event) => {
                event.preventDefault();
                choose(one);
              }}
            >
              <bdi>{one.name}</bdi>{"port" in one && one.port > 0 && ` port ${one.port}`} <span class="quiet">{one.why}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
