// biome-ignore-all lint: hostile on purpose
// expect: timed out|memory|crashed
export const transformEvent = () => {
  const url = URL.createObjectURL(new Blob(["for(;;);"], { type: "text/javascript" }));
  for (;;) new Worker(url);
};
