// biome-ignore-all lint: hostile on purpose
// expect: "allowed":\[\],"tried":16
const calls = {
  socketInet: [41, 2, 1, 0],
  socketInet6: [41, 10, 1, 0],
  socketUnix: [41, 1, 1, 0],
  socketNetlink: [41, 16, 3, 0],
  socketPacket: [41, 17, 3, 0],
  socketVsock: [41, 40, 1, 0],
  socketpair: [53, 1, 1, 0, new Int32Array(2)],
  connect: [42, 0, new BigUint64Array(2), 16],
  bind: [49, 0, new BigUint64Array(2), 16],
  listen: [50, 0, 1],
  sendto: [44, 1, Buffer.from("x"), 1, 0, 0],
  recvmsg: [47, 0, new BigUint64Array(7), 0],
  sendmsg: [46, 1, new BigUint64Array(7), 0],
  setsockopt: [54, 0, 1, 1, new Int32Array(1)],
  ioUringSetup: [425, 8, new BigUint64Array(15)],
  ioUringEnter: [426, 0, 0, 0, 0],
};
export const transformEvent = () => {
  const allowed = Object.keys(calls).filter((name) => kernel.syscall(...calls[name]).value !== -1);
  return { allowed, tried: Object.keys(calls).length };
};
