// biome-ignore-all lint: hostile on purpose
// expect: "started":true|crashed
export const transformEvent = () => {
  const url = URL.createObjectURL(new Blob(["for(;;);"], { type: "text/javascript" }));
  new Worker(url);
  return { started: true };
};
