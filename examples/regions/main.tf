# One configuration over many regions: a provider instance for each of them, a module instance in each, and records that
# bring the addresses of all the others to every region. About 300 objects with the defaults.

terraform {
  required_providers {
    cloud = {
      source  = "weft.test/sim/cloud"
      version = "1.0.0"
    }
  }
}

# The regions that are left stay in var.regions while they are emptied: a provider instance outlives its resources.
locals {
  active = { for name, region in var.regions : name => region if !contains(var.leaving, name) }
}

provider "cloud" {
  alias    = "by_region"
  for_each = var.regions

  region = each.key
}

module "region" {
  source   = "./modules/region"
  for_each = local.active

  providers = {
    cloud = cloud.by_region[each.key]
  }

  name           = each.key
  prefix         = each.value.prefix
  subnets        = each.value.subnets
  instances      = each.value.instances
  size           = each.value.size
  image          = var.image
  admin_password = var.admin_password
}

# In each region: where the doors of all other regions are, as long as there are others. Each of these waits for one
# instance in every other region, and for nothing else there.
resource "cloud_dns_record" "others" {
  for_each = { for name, region in local.active : name => region if length(local.active) > 1 }
  provider = cloud.by_region[each.key]

  name   = "others"
  type   = "A"
  ttl    = 60
  values = [for name in sort(keys(local.active)) : module.region[name].door if name != each.key]
}
