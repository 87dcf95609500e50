module "cluster" {
  source = "../../modules/cluster"

  cluster_name = "weft-wild"
  fargate_capacity_providers = {
    FARGATE = {
      default_capacity_provider_strategy = {
        weight = 50
      }
    }
  }
}

module "off" {
  source = "../.."
  create = false
}

output "cluster" {
  value = module.cluster.name
}
