// The client, and everything of the engine below it, with one import.
@_exported public import ChappieTransport

/// Where a program begins: it makes clients.
public enum Chappie {}
