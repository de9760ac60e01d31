// biome-ignore-all lint: hostile on purpose
// expect: "allowed":\[\],"tried":18
const calls = {
  setrlimit: [160, 9, new BigUint64Array([~0n, ~0n])],
  prlimit: [302, 0, 9, new BigUint64Array([~0n, ~0n]), 0],
  prctlDumpable: [157, 4, 1],
  prctlDeathSignal: [157, 1, 0],
  prctlSeccomp: [157, 22, 0, 0],
  prctlCapabilities: [157, 24, 0],
  seccompStrict: [317, 0, 0, 0],
  landlock: [444, 0, 0, 1],
  bpf: [321, 0, 0, 0],
  perfEvent: [298, new BigUint64Array(16), 0, -1, -1, 0],
  keyctl: [250, 0, 0, 0, 0, 0],
  addKey: [248, Buffer.from("user\0"), Buffer.from("x\0"), Buffer.from("y"), 1, -1],
  userfaultfd: [323, 0],
  shmget: [29, 0, 4_096, 0o1777],
  semget: [64, 0, 1, 0o1777],
  msgget: [68, 0, 0o1777],
  mqOpen: [240, Buffer.from("x\0"), 0o102, 0o777, 0],
  reboot: [169, 0, 0, 0, 0],
};
export const transformEvent = () => {
  const allowed = Object.keys(calls).filter((name) => kernel.syscall(...calls[name]).value !== -1);
  return { allowed, tried: Object.keys(calls).length };
};
