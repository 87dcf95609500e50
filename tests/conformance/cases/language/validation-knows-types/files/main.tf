terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
provider "lab" {
  region = "x"
}
resource "lab_thing" "a" {
  name = "a"
}
resource "lab_thing" "en" {
  name = "a"
  lifecycle {
    enabled = true
  }
}
resource "lab_thing" "fe" {
  for_each = toset(["k"])
  name = "a"
}
resource "lab_any" "dyn" {
  value = "x"
}
data "lab_region" "d" {
}
data "lab_region" "dc" {
  count = 1
}
ephemeral "lab_token" "e" {
  name = "x"
}
resource "lab_singleton" "s" {
  name = "x"
}
locals {
  l = lab_thing.a.size
  whole = lab_thing.a
}
module "m" {
  source = "./m"
  v = lab_thing.a.size
}
resource "lab_thing" "counted" {
  count = 1
  name  = "c"
}
output "operand" {
  value = lab_thing.a.tags + 1
}
output "argument" {
  value = upper(lab_thing.en.tags)
}
output "loop" {
  value = [for x in local.l : x]
}
output "data" {
  value = [for x in data.lab_region.d.name : x]
}
output "branches" {
  value = lab_thing.a.id == "" ? [1] : lab_thing.a.id
}
output "counted" {
  value = lab_thing.counted[0].tags + 1
}
output "module" {
  value = [for x in module.m.o : x]
}
resource "lab_thing" "arguments" {
  name = lab_thing.a.tags
  tags = lab_thing.a.size
}
resource "terraform_data" "repeated" {
  for_each = lab_thing.a.size
}
resource "lab_thing" "own" {
  name = "x"
  lifecycle {
    postcondition {
      condition     = length(self.size) > 0
      error_message = "x"
    }
  }
}
resource "lab_thing" "own_counted" {
  count = 1
  name  = "x"
  lifecycle {
    postcondition {
      condition     = length(self.size) > 0
      error_message = "x"
    }
  }
}
