// biome-ignore-all lint: hostile on purpose
// expect: ^Error: \[31mred\nnext
export function transformEvent() {
  throw new Error("\u001b]0;title\u0007\u001b[31m[31mred\u0000\nnext");
}
