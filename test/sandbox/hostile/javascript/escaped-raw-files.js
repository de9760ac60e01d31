// biome-ignore-all lint: hostile on purpose
// expect: "allowed":\[\],"tried":20
const path = (text) => Buffer.from(`${text}\0`);
export const transformEvent = ({ canary: { file, directory } }) => {
  const calls = {
    open: [2, path(file), 0],
    openat: [257, -100, path(file), 0],
    openat2: [437, -100, path(file), new BigUint64Array(3), 24],
    creat: [85, path(`${directory}/new`), 0o777],
    stat: [4, path(file), new BigUint64Array(32)],
    access: [21, path(file), 0],
    unlink: [87, path(file)],
    rename: [82, path(file), path(`${file}2`)],
    mkdir: [83, path(`${directory}/new`), 0o777],
    chmod: [90, path(file), 0],
    chdir: [80, path("/")],
    chroot: [161, path("/")],
    mount: [165, path("none"), path("/"), path("tmpfs"), 0, 0],
    pivotRoot: [155, path("/"), path("/")],
    getdents: [217, 0, new BigUint64Array(32), 256],
    readlink: [89, path("/proc/self/exe"), new BigUint64Array(8), 64],
    truncate: [76, path(file), 0],
    link: [86, path(file), path(`${file}2`)],
    nameToHandle: [303, -100, path(file), new BigUint64Array(32), new Int32Array(1), 0],
    memfd: [319, path("x"), 0],
  };
  return outcome(calls);
};
function outcome(calls) {
  const allowed = Object.keys(calls).filter((name) => kernel.syscall(...calls[name]).value !== -1);
  return { allowed, tried: Object.keys(calls).length };
}
