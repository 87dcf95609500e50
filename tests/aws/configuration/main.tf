# What the AWS provider is tried with: several regions, each through a provider instance of its own, default tags,
# cross-region references, data read at plan and data read at apply.
terraform {
  required_providers {
    aws = {
      source  = "registry.terraform.io/hashicorp/aws"
      version = "~> 5.0"
    }
  }
}

variable "endpoint" {
  type        = string
  description = "Where the pretended AWS listens."
}

variable "regions" {
  type        = map(object({ cidr = string }))
  description = "Every region that has a provider instance."
}

variable "inhabited" {
  type        = set(string)
  description = "The regions that have objects."
}

variable "owner" {
  type    = string
  default = "first"
}

variable "secret" {
  type      = string
  sensitive = true
  default   = "correct horse"
}

provider "aws" {
  alias    = "by_region"
  for_each = var.regions

  region                      = each.key
  access_key                  = "pretended"
  secret_key                  = "pretended"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  s3_use_path_style           = true

  default_tags {
    tags = {
      owner  = var.owner
      region = each.key
    }
  }

  endpoints {
    cloudwatchlogs = var.endpoint
    dynamodb       = var.endpoint
    ec2            = var.endpoint
    iam            = var.endpoint
    route53        = var.endpoint
    s3             = var.endpoint
    sns            = var.endpoint
    ssm            = var.endpoint
    sts            = var.endpoint
  }
}

module "region" {
  source   = "./region"
  for_each = { for name, settings in var.regions : name => settings if contains(var.inhabited, name) }
  providers = {
    aws = aws.by_region[each.key]
  }

  name   = each.key
  cidr   = each.value.cidr
  secret = var.secret
}

locals {
  home = sort(keys(var.regions))[0]
}

resource "aws_route53_zone" "all" {
  provider = aws.by_region[local.home]
  name     = "weft.test"
  comment  = "over all regions"
}

# One record over addresses of every region: its provider instance waits for the results of the others.
resource "aws_route53_record" "all" {
  provider = aws.by_region[local.home]
  zone_id  = aws_route53_zone.all.zone_id
  name     = "all"
  type     = "A"
  ttl      = 60
  records  = sort([for region in module.region : region.address])
}

output "buckets" {
  value = { for name, region in module.region : name => region.bucket }
}

output "account" {
  value = distinct([for region in module.region : region.account])
}
