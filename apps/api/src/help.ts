/** The output of `--help`. */
export const HELP = `Starts the API of the Realtime Avatar Service. It takes no arguments: environment variables configure it.

Usage: bun start [--help | --version]

  PORT           port of the API (3000)
  HOST           address to listen on (the loopback addresses)
  PUBLIC_URL     scheme, host and port at which browsers reach the service (http://localhost with the port)
  DATA_DIR       folder of the embedded PostgreSQL and of files (.data)
  DATABASE_URL   PostgreSQL 15 or later, in place of the embedded one
  STORAGE_URL    s3://bucket, in place of the folder for files
  WORKER         whether the API runs a worker as a child process (true on the embedded PostgreSQL)
  OPENAI_API_KEY a conversation in calls, and better voices; docs/conversation.md has others
  LOG_LEVEL      fatal, error, warn, info, debug, trace or silent (info)

The first start prints an API key, and a link to the dashboard. docs/configuration.md lists all variables.
`;
