/// A turn against a server that rolls dice.
package enum TurnSimulation {}
