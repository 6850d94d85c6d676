"""The MCP server: the contract's tools over standard input and output, and over HTTP."""
