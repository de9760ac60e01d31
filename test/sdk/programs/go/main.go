// The protocol of protocol.mjs, for the SDKs of Go. The argument names the SDK.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"sync"
)

type options struct {
	Address  string `json:"address"`
	WriteKey string `json:"writeKey"`
}

type command struct {
	Client string          `json:"client"`
	Open   *options        `json:"open"`
	Call   json.RawMessage `json:"call"`
}

// Hands an event of a type to an SDK.
type enqueue func(kind string, event json.RawMessage) error

// reporter prints the outcome that the SDK reports for each event of a client.
type reporter struct{ client string }

var output sync.Mutex

func (r reporter) print(outcome map[string]any) {
	outcome["client"] = r.client
	line, _ := json.Marshal(outcome)
	output.Lock()
	defer output.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

func (r reporter) sent()            { r.print(map[string]any{"sent": true}) }
func (r reporter) failed(err error) { r.print(map[string]any{"failed": err.Error()}) }

// Reads an event into the SDK's type for it.
func read[T any](event json.RawMessage) T {
	var message T
	if err := json.Unmarshal(event, &message); err != nil {
		panic(err)
	}
	return message
}

func main() {
	open := map[string]func(options, reporter) enqueue{"rudder": openRudder, "segment": openSegment}[os.Args[1]]
	clients := map[string]enqueue{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var line command
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			panic(err)
		}
		if line.Open != nil {
			clients[line.Client] = open(*line.Open, reporter{line.Client})
			continue
		}
		kind := read[struct{ Type string }](line.Call).Type
		if err := clients[line.Client](kind, line.Call); err != nil {
			reporter{line.Client}.failed(err)
		}
	}
}
