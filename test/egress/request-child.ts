import { createEgress } from "../../src/egress/egress.ts";
import { requestTo } from "./request-client.ts";

/** Sends one request from a process of its own and prints the status. */
const egress = createEgress({ allow: ["127.0.0.0/8"] });
const answer = await egress.request(requestTo(process.argv[2]!));
process.stdout.write(String(answer.status));
egress.close();
