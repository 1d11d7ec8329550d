/** The store on an S3, as every store. It runs on Swift, which takes half a minute; with LONG=1, of many more files. */
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { testStore } from "../conformance-testing.ts";
import { SWIFT } from "../testing.ts";

testStore(SWIFT, await fileFolder());
