import { serverSdks } from "./sdks.ts";
import { testSdks } from "./suite.ts";

testSdks(serverSdks);
