terraform {
  required_providers {
    lab = {
      source  = "weft.test/lab/lab"
      version = "1.0.0"
    }
  }
}

module "deep" { source = "../d" }
output "names" { value = module.deep.names }
