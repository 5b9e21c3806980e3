package embedded

import (
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"

	"writ/internal/loopback"
)

const clusterName = "active"

// configure returns the server's configuration and where its services are.
// Hosts are static: there is one, and without the membership protocol a
// service may have any port.
func configure(store Store, port int) (*config.Config, map[primitives.ServiceName]static.Hosts, error) {
	ports := map[primitives.ServiceName]int{primitives.FrontendService: port}
	for _, service := range []primitives.ServiceName{
		primitives.HistoryService, primitives.MatchingService, primitives.WorkerService,
	} {
		free, err := loopback.FreePort()
		if err != nil {
			return nil, nil, err
		}
		ports[service] = free
	}
	services := map[string]config.Service{}
	hosts := map[primitives.ServiceName]static.Hosts{}
	for service, port := range ports {
		services[string(service)] = config.Service{RPC: config.RPC{GRPCPort: port, BindOnLocalHost: true}}
		hosts[service] = static.SingleLocalHost(loopback.Address(port))
	}

	const executions, visibility = "executions", "visibility"
	frontend := loopback.Address(port)
	return &config.Config{
		Global: config.Global{
			Membership: config.Membership{
				MaxJoinDuration:  30 * time.Second,
				BroadcastAddress: "127.0.0.1",
			},
		},
		Persistence: config.Persistence{
			DefaultStore:     executions,
			VisibilityStore:  visibility,
			NumHistoryShards: historyShards,
			DataStores: map[string]config.DataStore{
				executions: {SQL: store.executions},
				visibility: {SQL: store.visibility},
			},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services:            services,
		Archival: config.Archival{
			History:    config.HistoryArchival{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchival{State: config.ArchivalDisabled},
		},
		NamespaceDefaults: config.NamespaceDefaults{
			Archival: config.ArchivalNamespaceDefaults{
				History:    config.HistoryArchivalNamespaceDefaults{State: config.ArchivalDisabled},
				Visibility: config.VisibilityArchivalNamespaceDefaults{State: config.ArchivalDisabled},
			},
		},
		PublicClient: config.PublicClient{HostPort: frontend},
	}, hosts, nil
}

// tuning sets what matters for latency on one machine; the rest has the
// server's defaults.
func tuning() dynamicconfig.Client {
	return dynamicconfig.StaticClient{
		// The default of 20 polls a second and shard adds up to 50 ms to each
		// hop of a task.
		dynamicconfig.TransferProcessorMaxPollRPS.Key(): 300,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():    300,
		// One host needs no partitions; each costs polls that find nothing.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
		// Eager starts and activities save a hop through matching each.
		dynamicconfig.EnableEagerWorkflowStart.Key():     true,
		dynamicconfig.EnableActivityEagerExecution.Key(): true,
		// Search attributes that a worker registers can be used at once.
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
		dynamicconfig.NamespaceCacheRefreshInterval.Key():           500 * time.Millisecond,
	}
}
