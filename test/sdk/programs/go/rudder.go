package main

import (
	"encoding/json"
	"time"

	analytics "github.com/rudderlabs/analytics-go/v4"
)

type rudderCallback struct{ reporter }

func (c rudderCallback) Success(analytics.Message)              { c.sent() }
func (c rudderCallback) Failure(_ analytics.Message, err error) { c.failed(err) }

func openRudder(options options, reporter reporter) enqueue {
	client, err := analytics.NewWithConfig(options.WriteKey, analytics.Config{
		DataPlaneUrl: options.Address,
		Interval:     200 * time.Millisecond,
		Callback:     rudderCallback{reporter},
	})
	if err != nil {
		panic(err)
	}
	return func(kind string, event json.RawMessage) error {
		switch kind {
		case "track":
			return client.Enqueue(read[analytics.Track](event))
		case "page":
			return client.Enqueue(read[analytics.Page](event))
		case "identify":
			return client.Enqueue(read[analytics.Identify](event))
		case "screen":
			return client.Enqueue(read[analytics.Screen](event))
		case "group":
			return client.Enqueue(read[analytics.Group](event))
		default:
			return client.Enqueue(read[analytics.Alias](event))
		}
	}
}
