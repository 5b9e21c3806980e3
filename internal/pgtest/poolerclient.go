package pgtest

import (
	"fmt"
	"math/rand/v2"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// pooled is one client of a pooler.
type pooled struct {
	*pooler
	name   uint32 // the process that it is told to be served by
	client *pgproto3.Backend
	lent   *pgconn.HijackedConn // nil while it has none
	status byte                 // of the transaction on it
}

// serve talks to one client until it leaves.
func (p *pooler) serve(connection net.Conn) {
	c := &pooled{pooler: p, name: rand.Uint32N(1<<31) | 1<<30, client: pgproto3.NewBackend(connection, connection)}
	defer func() {
		_ = connection.Close()
		p.mu.Lock()
		delete(p.clients, connection)
		p.mu.Unlock()
		switch {
		case c.lent == nil:
		case c.status == 'I':
			p.takeBack(c.lent)
		default: // in the middle of a transaction
			_ = c.lent.Conn.Close()
		}
	}()
	if err := c.welcome(); err != nil {
		return // it left, or was refused
	}
	for c.answer() == nil {
	}
}

// welcome lets the client in without asking for a password. The number of the process
// that it is given is above every process id of Linux, and so nobody's.
func (c *pooled) welcome() error {
	message, err := c.client.ReceiveStartupMessage()
	if err != nil {
		return err
	}
	startup, ok := message.(*pgproto3.StartupMessage)
	if !ok {
		return fmt.Errorf("a %T is not for the pooler of a test", message)
	}
	if _, given := startup.Parameters["search_path"]; given && c.options.OnlyKnownParameters {
		return c.refuse("unsupported startup parameter: search_path")
	}
	if c.lent = c.lend(); c.lent == nil {
		return net.ErrClosed
	}
	c.client.Send(&pgproto3.AuthenticationOk{})
	for name, value := range c.lent.ParameterStatuses {
		c.client.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
	}
	c.client.Send(&pgproto3.BackendKeyData{ProcessID: c.name, SecretKey: []byte{0, 0, 0, 1}})
	c.client.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	c.rest('I')
	return c.client.Flush()
}

// refuse sends an error in PgBouncer's way: one code for everything, and it hangs up.
func (c *pooled) refuse(why string) error {
	c.client.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "08P01", Message: why})
	_ = c.client.Flush()
	return fmt.Errorf("refused: %s", why)
}

// rest ends the loan if its time is over when the server has answered.
func (c *pooled) rest(status byte) {
	c.status = status
	if status == 'I' && (c.options.PerTransaction || c.options.PerStatement) {
		c.takeBack(c.lent)
		c.lent = nil
	}
}

// answer passes one message of the client on, and after the last of a request the
// server's answer back.
func (c *pooled) answer() error {
	message, err := c.client.Receive()
	if err != nil {
		return err
	}
	if _, leaves := message.(*pgproto3.Terminate); leaves {
		return net.ErrClosed
	}
	if c.lent == nil {
		if c.lent = c.lend(); c.lent == nil {
			return net.ErrClosed
		}
	}
	c.lent.Frontend.Send(c.renamed(message))
	switch message.(type) {
	case *pgproto3.Query, *pgproto3.Sync:
		return c.relay()
	}
	return nil
}

func (c *pooled) relay() error {
	if err := c.lent.Frontend.Flush(); err != nil {
		return err
	}
	for {
		message, err := c.lent.Frontend.Receive()
		if err != nil {
			return err
		}
		ready, last := message.(*pgproto3.ReadyForQuery)
		if last && c.options.PerStatement && ready.TxStatus != 'I' {
			c.status = ready.TxStatus
			return c.refuse("transaction blocks not allowed in statement pooling mode")
		}
		c.client.Send(message)
		if last {
			c.rest(ready.TxStatus)
			return c.client.Flush()
		}
	}
}

// renamed gives the client's prepared statements names of its own.
func (c *pooled) renamed(message pgproto3.FrontendMessage) pgproto3.FrontendMessage {
	if !c.options.KeepPrepared {
		return message
	}
	own := func(name *string) {
		if *name != "" {
			*name = fmt.Sprintf("c%d_%s", c.name, *name)
		}
	}
	switch m := message.(type) {
	case *pgproto3.Parse:
		own(&m.Name)
	case *pgproto3.Bind:
		own(&m.PreparedStatement)
	case *pgproto3.Describe:
		if m.ObjectType == 'S' {
			own(&m.Name)
		}
	case *pgproto3.Close:
		if m.ObjectType == 'S' {
			own(&m.Name)
		}
	}
	return message
}
