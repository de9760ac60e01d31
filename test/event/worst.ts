/** Legal queries of (nearly) 32 KB that are as much work as we could think of. */

const START = "writeKey=k&userId=u";
/** The target has 32,768 bytes with `/pixel/v1/page?` in front. */
export const QUERY_BYTES_MAX = 32_768 - "/pixel/v1/page?".length;
const PARAMETERS = 998;

function filled(piece: string): string {
  const start = `${START}&x=`;
  return start + piece.repeat(Math.floor((QUERY_BYTES_MAX - start.length) / piece.length));
}

/** Fills the query with parameters, each made from its number. */
function many(parameter: (index: number) => string): string {
  let query = START;
  for (let index = 0; index < PARAMETERS; index++) {
    const next = `&${parameter(index)}`;
    if (query.length + next.length > QUERY_BYTES_MAX) break;
    query += next;
  }
  return query;
}

export const worstQueries: Record<string, string> = {
  "one plain value": filled("y"),
  "euro signs in escapes": filled("%E2%82%AC"),
  "invalid bytes": filled("%FF"),
  "halves of sequences": filled("%F0%9F%98"),
  "control characters": filled("%01"),
  "malformed escapes": filled("%z"),
  "a name in escapes": `${START}&${filled("%41").slice(START.length + 3)}=1`,
  ampersands: START + "&".repeat(QUERY_BYTES_MAX - START.length),
  "names in one object": many((i) => `properties.name${String(i).padStart(15, "0")}=1`),
  "names that end alike": many((i) => `${String(i).padStart(4, "0")}-properties-of-this-page=1`),
  "one name again and again": many(() => "properties.abcdefghijklmnop=123"),
  "16 levels": many((i) => `${i}.a.b.c.d.e.f.g.h.i.j.k.l.m.n=`),
  "16 empty levels": many((i) => `${i}${".".repeat(15)}=1`),
  "16 levels, one tree": many((i) => `a.${i % 9}b.c.d.e.${i % 7}f.g.h.x${i}`),
  "dots in escapes": many((i) => `a%2E${i}b%2Ec%2Ed%2Ee%2Ef=1`),
  "arrays of gaps": many((i) => (i < 100 ? `a${i}.5=` : `b${i}=${"y".repeat(24)}`)),
  "an array backwards": many((i) => `properties.items.${PARAMETERS - i}=1234567890`),
  "arrays in arrays": many(
    (i) => `a.${i % 10}.${Math.floor(i / 10) % 7}.${Math.floor(i / 70)}.x${i}=1`,
  ),
  numbers: many((i) => `properties.p${i}=-12345678901.${1000 + (i % 1000)}`),
  "numbers that are none": many((i) => `properties.p${i}=1234567890.123456x`),
  "a scalar in the way": many((i) => (i === 0 ? "a=1" : `a.${i}.b.c.d.e.f.g=1`)),
};
