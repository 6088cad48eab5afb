// Well-known text of geometries (OGC 06-103r4, section 7), as GeoSPARQL writes it: with the IRI of a reference system before it.

const TOKEN = /\s*(?:([A-Za-z]+)|([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|([(),]))/y;
const SYSTEM = /^\s*<([^>]*)>/;
const LONGITUDE_FIRST = /\/CRS84h?$/i;
const LATITUDE_FIRST = /(?:\/EPSG\/[^/]*\/|EPSG:+)4326$/i;
const MOST_POINTS = 20_000;
const DEEPEST = 16;

/** What cannot be read, or not be drawn; the message says why. */
export class UnreadGeometry extends Error {}

class Reader {
  #text;
  #at = 0;
  #points = 0;
  #swapped;
  shapes = { points: [], lines: [], areas: [] };

  constructor(text, swapped) {
    this.#text = text;
    this.#swapped = swapped;
  }

  #next() {
    TOKEN.lastIndex = this.#at;
    const match = TOKEN.exec(this.#text);
    if (match === null) return { end: this.#text.slice(this.#at).trim() === "" };
    this.#at = TOKEN.lastIndex;
    return { word: match[1]?.toUpperCase(), number: match[2], sign: match[3] };
  }

  #peek() {
    const at = this.#at;
    const token = this.#next();
    this.#at = at;
    return token;
  }

  #expect(sign) {
    if (this.#next().sign !== sign) throw new UnreadGeometry(`${sign} is expected at character ${this.#at + 1}`);
  }

  /** `(item, item, …)`, or EMPTY, which is none. */
  #list(item) {
    if (this.#peek().word === "EMPTY") {
      this.#next();
      return [];
    }
    this.#expect("(");
    const found = [item()];
    for (;;) {
      const { sign } = this.#next();
      if (sign === ")") return found;
      if (sign !== ",") throw new UnreadGeometry(`, or ) is expected at character ${this.#at + 1}`);
      found.push(item());
    }
  }

  /** A point; heights and measures are passed over. */
  #point() {
    const numbers = [];
    while (this.#peek().number !== undefined) numbers.push(Number(this.#next().number));
    if (numbers.length < 2 || numbers.length > 4) throw new UnreadGeometry(`two numbers are expected at character ${this.#at + 1}`);
    this.#points += 1;
    if (this.#points > MOST_POINTS) throw new UnreadGeometry(`it has more than ${MOST_POINTS.toLocaleString("en")} points`);
    const [x, y] = this.#swapped ? [numbers[1], numbers[0]] : numbers;
    if (Math.abs(x) > 180 || Math.abs(y) > 90) throw new UnreadGeometry(`${x} ${y} is no longitude and latitude`);
    return [x, y];
  }

  #path = () => this.#list(() => this.#point());
  #rings = () => this.#list(this.#path).filter((ring) => ring.length > 0);

  /** How the coordinates of each kind of geometry are read. */
  #kinds = (depth) => ({
    POINT: () => this.shapes.points.push(...this.#list(() => this.#point())),
    MULTIPOINT: () => this.shapes.points.push(...this.#list(() => (this.#peek().sign === "(" ? this.#path() : [this.#point()])).flat()),
    LINESTRING: () => this.#keep("lines", this.#path()),
    MULTILINESTRING: () => this.#list(this.#path).forEach((path) => this.#keep("lines", path)),
    POLYGON: () => this.#keep("areas", this.#rings()),
    MULTIPOLYGON: () => this.#list(this.#rings).forEach((rings) => this.#keep("areas", rings)),
    GEOMETRYCOLLECTION: () => this.#list(() => this.geometry(depth + 1)),
  });

  #keep(kind, found) {
    if (found.length > 0) this.shapes[kind].push(found);
  }

  geometry(depth = 0) {
    if (depth > DEEPEST) throw new UnreadGeometry(`collections are nested more than ${DEEPEST} times`);
    const kinds = this.#kinds(depth);
    const { word } = this.#next();
    if (word === undefined) throw new UnreadGeometry("it does not begin with a kind of geometry");
    const name = Object.keys(kinds).find((kind) => [kind, `${kind}Z`, `${kind}M`, `${kind}ZM`].includes(word));
    if (name === undefined) throw new UnreadGeometry(`${word} is not drawn`);
    if (["Z", "M", "ZM"].includes(this.#peek().word)) this.#next();
    kinds[name]();
  }

  end() {
    const at = this.#at;
    if (!this.#next().end) throw new UnreadGeometry(`the geometry is expected to end after character ${at}`);
  }
}

/**
 * The points, lines and areas of a geo:wktLiteral, as [longitude, latitude] in degrees; an area is its rings.
 *
 * Read are CRS84, which holds where no reference system is named, and EPSG:4326. Throws UnreadGeometry.
 * @returns {{points: number[][], lines: number[][][], areas: number[][][][]}}
 */
export function geometryOf(text) {
  const system = SYSTEM.exec(text);
  const swapped = system !== null && LATITUDE_FIRST.test(system[1]);
  if (system !== null && !swapped && !LONGITUDE_FIRST.test(system[1])) {
    throw new UnreadGeometry(`the reference system <${system[1]}> is not known: CRS84 and EPSG:4326 are`);
  }
  const reader = new Reader(system === null ? text : text.slice(system[0].length), swapped);
  reader.geometry();
  reader.end();
  return reader.shapes;
}
