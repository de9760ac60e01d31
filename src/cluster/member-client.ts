import type { Consumer, ConsumerOptions } from "@platformatic/kafka";

/** A member of a group. */
export interface MemberClient extends Consumer {
  /** Gives up all that was asked and not answered; another broker is asked first from here on. */
  askAnother(): void;
}

type Kafka = typeof import("@platformatic/kafka");

/**
 * Makes a member of a group that can turn away from a broker which takes requests and never
 * answers. The library asks the broker again that it asked before.
 */
export function makeMemberClient(
  kafka: Kafka,
  options: ConsumerOptions<Buffer, Buffer, Buffer, Buffer>,
): MemberClient {
  const consumer: Consumer = new kafka.Consumer(options);
  const connect = consumer[kafka.kGetBootstrapConnection].bind(consumer);
  let turn = 0;
  consumer[kafka.kGetBootstrapConnection] = (found) => connect(found, turn);
  return Object.assign(consumer, {
    askAnother() {
      turn += 1;
      for (const [, connection] of consumer.connections) connection.socket.destroy();
    },
  });
}
