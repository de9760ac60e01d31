// biome-ignore-all lint: hostile on purpose
// expect: "allowed":\[\],"tried":26,"identity":\[-1,-1\]
// Calls that are allowed, with arguments that a guest has no use for.
const memory = new BigUint64Array(4_096);
const page = (prot, flags, at = 0) => [9, at, 65_536, prot, flags, -1, 0];
export const transformEvent = ({ canary: { pid } }) => {
  const own = kernel.syscall(...page(3, 0x22)).value;
  const clock = (~pid << 3) | 2;
  const calls = {
    nullPage: page(3, 0x32),
    lowPage: page(3, 0x32, 8_192),
    lowPageNoReplace: page(3, 0x100022, 8_192),
    executable: page(5, 0x22),
    writableExecutable: page(7, 0x22),
    shared: page(3, 0x21),
    growsDown: page(3, 0x122),
    hugePages: page(3, 0x40022),
    locked: page(3, 0x2022),
    mprotectExecutable: [10, own, 65_536, 5],
    mprotectAll: [10, own, 65_536, 7],
    mremapFixed: [25, own, 65_536, 65_536, 3, 4_096],
    mremapKeep: [25, own, 65_536, 65_536, 5, 0],
    merge: [28, own, 65_536, 12],
    pageOut: [28, own, 65_536, 21],
    remove: [28, own, 65_536, 9],
    poison: [28, own, 65_536, 100],
    inherit: [202, memory, 6, 0],
    inheritPrivate: [202, memory, 0x86, 0],
    inheritRequeue: [202, memory, 12, 0, 0, memory],
    barrierOfAll: [324, 1, 0],
    barrierOfOthers: [324, 2, 0],
    processors: [204, pid, 8, memory],
    clock: [228, clock, memory],
    clockSleep: [230, clock, 0, memory, memory],
    sysinfo: [99, memory],
  };
  const allowed = Object.keys(calls).filter((name) => kernel.syscall(...calls[name]).value !== -1);
  const identity = [kernel.syscall(117, 0, 0, 0).value, kernel.syscall(126, memory, memory).value];
  return { allowed, tried: Object.keys(calls).length, identity };
};
