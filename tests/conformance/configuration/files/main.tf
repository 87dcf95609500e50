terraform {
  required_providers {
    lab = {
      source  = "weft.test/lab/lab"
      version = ">= 1.0.0, < 2.0.0"
    }
    oldlab = {
      source = "weft.test/lab/oldlab"
    }
  }
}

variable "region" {
  type        = string
  default     = "north"
  description = "Where it stands"
}

variable "sizes" {
  type = map(object({
    size  = number
    color = optional(string, "red")
  }))
  default = {
    a = { size = 1 }
    b = { size = 2.5, color = "blue" }
  }
}

variable "required" {
  sensitive  = true
  deprecated = "not needed"
}

variable "any" {
  type    = any
  default = ["x", 1, null]
}

variable "tmp" {
  type      = string
  default   = null
  ephemeral = true
}

provider "lab" {
  region = var.region
  settings {
    retries = 3
    tags    = { a = "b" }
  }
}

provider "lab" {
  alias    = "by"
  for_each = toset(["e", "w"])
  region   = each.key
}

provider "lab" {
  alias  = "plain"
  region = "south-${var.region}"
  token  = "hush"
}

locals {
  all = { for k, v in var.sizes : k => v }
}

resource "lab_thing" "base" {
  name  = "base"
  size  = 3
  tags  = ["a", "b"]
  color = null
  labels = {
    (var.region) = "x"
    fixed        = "y"
  }
  rule {
    port = 80
  }
  rule {
    port = 443 + 1
    cidr = "10.0.0.0/8"
  }
  step {
    command = "run ${local.all["a"].size}"
  }
  replicas = [{ zone = "z1" }, { zone = var.region, weight = 2 }]
  limits   = { cpu = 1 }
}

resource "lab_thing" "each" {
  for_each = var.sizes
  provider = lab.by["e"]
  name     = "each-${each.key}"
  size     = each.value.size
  notes    = [for n in ["a", "b"] : upper(n)]
  dynamic "step" {
    for_each = [1]
    content {
      command = "x"
    }
  }
  depends_on = [lab_thing.base, module.net["p"], data.lab_region.here]
  lifecycle {
    create_before_destroy = true
    ignore_changes        = [size]
  }
}

resource "lab_thing" "count" {
  count    = 1 + 1
  provider = lab.plain
  name     = "count-${count.index}"
  color    = lab_thing.each["a"].color
  zone     = lab_thing.base.replicas[0].zone == null ? null : "z"
  provisioner "local-exec" {
    command     = "echo ${self.id}"
    environment = { A = "b" }
    when        = create
  }
  provisioner "local-exec" {
    command = "true"
    when    = destroy
  }
  connection {
    host = "h"
  }
}

resource "oldlab_box" "b" {
  name = lab_thing.count[0].endpoint.host
}

resource "terraform_data" "t" {
  input            = { a = lab_thing.base.id, b = [lab_thing.base.replicas[0].zone, path.module, terraform.workspace] }
  triggers_replace = provider::lab::sum(1, provider::lab::sum(2, 3))
  depends_on       = [lab_thing.count[0]]
}

resource "terraform_data" "off" {
  count = 0
  input = timestamp()
}

data "lab_region" "here" {
}

data "lab_thing" "found" {
  count    = 0
  provider = lab.plain
  name     = lab_thing.base.name
}

ephemeral "lab_token" "tok" {
  name = "t"
}

check "c" {
  data "lab_echo" "inner" {
    value = "x"
  }
  assert {
    condition     = data.lab_echo.inner.result == "x"
    error_message = "no"
  }
}

module "net" {
  source   = "./net"
  for_each = toset(["p", "q"])
  name     = each.value
  extra    = lab_thing.base.endpoint
  providers = {
    lab       = lab.plain
    lab.other = lab
  }
  depends_on = [terraform_data.off]
}

module "one" {
  source = "./net/deep"
  count  = length(local.all)
  label  = module.net["p"].id
}

output "id" {
  value       = module.net["p"].id
  description = "The id"
}

output "all" {
  value      = [for k, m in module.net : m.things[*].name]
  sensitive  = true
  depends_on = [module.one, lab_thing.each["a"]]
}

output "fixed" {
  value = { a = [1, true, null], s = "x${1 + 1}y" }
}

output "splat" {
  value = [lab_thing.count[*].id, lab_thing.count.*.name, module.one[0].out.a, var.sizes["a"].color, local.all.b]
}
