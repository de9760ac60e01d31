// biome-ignore-all lint: hostile on purpose
// expect: "readable":\[\],"tried":125
const READ = 0;
const EISDIR = 21;
export const transformEvent = () => {
  const readable = [];
  let tried = 0;
  for (let descriptor = 3; descriptor < 128; descriptor += 1) {
    tried += 1;
    // Reading nothing works on files and sockets; the runtime's own event descriptors refuse it.
    const { value, errno } = kernel.syscall(READ, descriptor, Buffer.alloc(8), 0);
    if (value === 0 || errno === EISDIR) readable.push(descriptor);
  }
  return { readable, tried };
};
