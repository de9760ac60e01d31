// biome-ignore-all lint: hostile on purpose
// expect: ^Error: mine\n {4}at evil \(library \?|^Error: mine
export function transformEvent() {
  const error = new Error("mine");
  error.stack = "Error: mine\n    at evil (pixelmill:library/99:1:1)\n    at x (/etc/passwd:1:1)";
  throw error;
}
