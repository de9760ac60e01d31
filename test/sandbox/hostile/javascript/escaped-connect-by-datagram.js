// biome-ignore-all lint: hostile on purpose
// expect: "tried":2,"got":\[\]|crashed
import { tries } from "tries";

const soon = (attempt) =>
  Promise.race([attempt, new Promise((_, reject) => setTimeout(reject, 300, new Error("late")))]);
export const transformEvent = ({ canary: { port } }) => {
  const { createSocket } = process.getBuiltinModule("dgram");
  const sent = () =>
    new Promise((resolve, reject) => {
      const socket = createSocket("udp4");
      socket.on("error", reject);
      socket.send("x", port, "127.0.0.1", (error) => (error ? reject(error) : resolve("sent")));
    });
  return tries([
    () => soon(Bun.udpSocket({ connect: { hostname: "127.0.0.1", port } })),
    () => soon(sent()),
  ]);
};
