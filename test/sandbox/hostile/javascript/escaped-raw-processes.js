// biome-ignore-all lint: hostile on purpose
// expect: "allowed":\[\],"tried":24
const path = (text) => Buffer.from(`${text}\0`);
const none = new BigUint64Array(1);
export const transformEvent = ({ canary: { pid } }) => {
  const calls = {
    execve: [59, path("/bin/id"), none, none],
    execveat: [322, -100, path("/bin/id"), none, none],
    fork: [57],
    vfork: [58],
    cloneProcess: [56, 17, 0, 0, 0, 0],
    cloneNewUser: [56, 0x10000000 | 17, 0, 0, 0, 0],
    cloneThreadNewUser: [56, 0x10000000 | 0x3d0f00, 0, 0, 0, 0],
    clone3: [435, new BigUint64Array(11), 88],
    ptraceParent: [101, 16, pid, 0, 0],
    ptraceMe: [101, 0, 0, 0, 0],
    kill: [62, pid, 0],
    killSelf: [62, process.pid, 0],
    tgkillParent: [234, pid, pid, 0],
    tkill: [200, pid, 0],
    pidfdOpen: [434, pid, 0],
    pidfdSendSignal: [424, 0, 0, 0, 0],
    processVmRead: [310, pid, none, 0, none, 0],
    processVmWrite: [311, pid, none, 0, none, 0],
    unshare: [272, 0x10000000],
    setns: [308, 0, 0],
    setpgid: [109, 0, 0],
    setuid: [105, 0],
    personality: [135, 0],
    waitid: [247, 0, 0, 0, 4, 0],
  };
  const allowed = Object.keys(calls).filter((name) => kernel.syscall(...calls[name]).value !== -1);
  return { allowed, tried: Object.keys(calls).length };
};
