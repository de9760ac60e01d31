// biome-ignore-all lint: hostile on purpose
// expect: timed out|crashed|"threads":
export const transformEvent = () => {
  const url = URL.createObjectURL(new Blob(["1"], { type: "text/javascript" }));
  let threads = 0;
  for (let i = 0; i < 200; i += 1) {
    new Worker(url);
    threads += 1;
  }
  return { threads };
};
