terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

provider "lab" {
  alias  = "west"
  region = "w"
}
module "d" { source = "./m" }
module "w" {
  source = "./m"
  providers = {
    lab = lab.west
  }
}
output "regions" { value = [module.d.region, module.w.region] }
