// Command terraform-provider-standin stands in for a provider that is not at hand, for validation only. The file
// schema.json beside the program says which resources there are. Every attribute is optional, computed and of any type;
// every block is a list.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"path/filepath"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// body is what may stand in a block.
type body struct {
	Attributes []string         `json:"attributes"`
	Blocks     map[string]*body `json:"blocks"`
}

func (b *body) block() *tfprotov6.SchemaBlock {
	found := &tfprotov6.SchemaBlock{}
	for _, name := range b.Attributes {
		found.Attributes = append(found.Attributes, &tfprotov6.SchemaAttribute{
			Name: name, Type: tftypes.DynamicPseudoType, Optional: true, Computed: true,
		})
	}
	for name, inner := range b.Blocks {
		found.BlockTypes = append(found.BlockTypes, &tfprotov6.SchemaNestedBlock{
			TypeName: name, Nesting: tfprotov6.SchemaNestedBlockNestingModeList, Block: inner.block(),
		})
	}
	return found
}

func schemas(bodies map[string]*body) map[string]*tfprotov6.Schema {
	found := map[string]*tfprotov6.Schema{}
	for name, b := range bodies {
		found[name] = &tfprotov6.Schema{Block: b.block()}
	}
	return found
}

// server answers what validation asks. What it does not ask is not there.
type server struct {
	tfprotov6.ProviderServer
	Source   string           `json:"source"`
	Provider *body            `json:"provider"`
	Managed  map[string]*body `json:"resource"`
	Data     map[string]*body `json:"data"`
}

func (s *server) GetMetadata(context.Context, *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	return &tfprotov6.GetMetadataResponse{}, nil
}

func (s *server) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	provider := &tfprotov6.SchemaBlock{}
	if s.Provider != nil {
		provider = s.Provider.block()
		for _, attribute := range provider.Attributes {
			attribute.Computed = false
		}
	}
	return &tfprotov6.GetProviderSchemaResponse{
		Provider:          &tfprotov6.Schema{Block: provider},
		ResourceSchemas:   schemas(s.Managed),
		DataSourceSchemas: schemas(s.Data),
	}, nil
}

func (s *server) GetResourceIdentitySchemas(context.Context, *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov6.GetResourceIdentitySchemasResponse{}, nil
}

func (s *server) ValidateProviderConfig(_ context.Context, request *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: request.Config}, nil
}

func (s *server) ValidateResourceConfig(context.Context, *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{}, nil
}

func (s *server) ValidateDataResourceConfig(context.Context, *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return &tfprotov6.ValidateDataResourceConfigResponse{}, nil
}

func (s *server) StopProvider(context.Context, *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	return &tfprotov6.StopProviderResponse{}, nil
}

func main() {
	program, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(program), "schema.json"))
	if err != nil {
		log.Fatal(err)
	}
	s := &server{}
	if err := json.Unmarshal(text, s); err != nil {
		log.Fatal(err)
	}
	if err := tf6server.Serve(s.Source, func() tfprotov6.ProviderServer { return s }); err != nil {
		log.Fatal(err)
	}
}
