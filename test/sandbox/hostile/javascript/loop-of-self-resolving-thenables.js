// biome-ignore-all lint: hostile on purpose
// expect: Script execution timed out
const endless = {
  then(resolve) {
    resolve(endless);
  },
};
export async function transformEvent() {
  return await endless;
}
