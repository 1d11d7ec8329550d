/** The program of a thread in the tests. */
import { runFliteThread } from "./flite-thread.ts";

runFliteThread();
