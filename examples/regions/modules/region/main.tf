# What one region is made of: a network, subnets over its zones, instances over its subnets, records.

terraform {
  required_providers {
    cloud = {
      source = "weft.test/sim/cloud"
    }
  }
}

data "cloud_region" "this" {
  name = var.name
}

locals {
  subnets = {
    for index in range(var.subnets) : format("subnet-%d", index) => {
      cidr = "${var.prefix}.${index}.0/24"
      zone = data.cloud_region.this.zones[index % length(data.cloud_region.this.zones)]
    }
  }
  instances = {
    for index in range(var.instances) : format("node-%03d", index) => {
      subnet = format("subnet-%d", index % var.subnets)
    }
  }
}

resource "cloud_network" "this" {
  name = var.name
  cidr = "${var.prefix}.0.0/16"

  tags = {
    example = "regions"
  }
}

resource "cloud_subnet" "this" {
  for_each = local.subnets

  name       = "${var.name}-${each.key}"
  network_id = cloud_network.this.id
  cidr       = each.value.cidr
  zone       = each.value.zone
}

resource "cloud_instance" "this" {
  for_each = local.instances

  name      = "${var.name}-${each.key}"
  subnet_id = cloud_subnet.this[each.value.subnet].id
  size      = var.size
  image     = var.image
  password  = "${var.admin_password}-${var.name}-${each.key}"

  user_data = <<-EOT
    hostname: ${each.key}
    network: ${cloud_network.this.id}
  EOT

  tags = {
    example = "regions"
    subnet  = each.value.subnet
  }
}

# The instances of each subnet under one name.
resource "cloud_dns_record" "subnet" {
  for_each = local.subnets

  name = each.key
  type = "A"
  values = [
    for name, instance in local.instances : cloud_instance.this[name].address if instance.subnet == each.key
  ]
}

resource "cloud_dns_record" "door" {
  name   = "door"
  type   = "A"
  ttl    = 60
  values = [local.door]
}

resource "cloud_dns_record" "about" {
  name = "about"
  type = "TXT"
  values = [
    "endpoint=${data.cloud_region.this.endpoint}",
    "zones=${join(" ", data.cloud_region.this.zones)}",
  ]
}

locals {
  door = cloud_instance.this["node-000"].address
}
