# As examples/complete-dns-validation, with zones of its own.
variable "domain" {
  type    = string
  default = "example.com"
}

resource "aws_route53_zone" "this" {
  name = var.domain
}

resource "aws_route53_zone" "extra" {
  name = "extra-${var.domain}"
}

provider "aws" {
  alias = "route53"
}

provider "aws" {
  alias = "acm"
}

module "acm" {
  source = "../.."

  domain_name = var.domain
  zone_id     = aws_route53_zone.this.zone_id

  subject_alternative_names = [
    "*.alerts.${var.domain}",
    "new.sub.${var.domain}",
    "*.${var.domain}",
    "alerts.${var.domain}",
  ]

  validation_method = "DNS"

  tags = {
    Name = var.domain
  }
}

module "acm_only" {
  source = "../.."

  providers = {
    aws = aws.acm
  }

  domain_name = var.domain
  subject_alternative_names = [
    "*.alerts.separated.${var.domain}",
    "new.sub.separated.${var.domain}",
  ]

  create_route53_records  = false
  validation_method       = "DNS"
  validation_record_fqdns = module.route53_records_only.validation_route53_record_fqdns
}

module "route53_records_only" {
  source = "../.."

  providers = {
    aws = aws.route53
  }

  create_certificate          = false
  create_route53_records_only = true
  validation_method           = "DNS"

  zone_id               = aws_route53_zone.this.zone_id
  distinct_domain_names = module.acm_only.distinct_domain_names

  acm_certificate_domain_validation_options = module.acm_only.acm_certificate_domain_validation_options
}

module "acm_multi_domain" {
  source = "../.."

  domain_name = var.domain
  zone_id     = aws_route53_zone.this.zone_id

  subject_alternative_names = [
    "*.alerts.${var.domain}",
    "extra-${var.domain}",
    "new.sub.extra-${var.domain}",
  ]

  validation_method = "DNS"

  zones = {
    "extra-${var.domain}"         = aws_route53_zone.extra.zone_id
    "new.sub.extra-${var.domain}" = aws_route53_zone.extra.zone_id
  }
}

module "off" {
  source             = "../.."
  create_certificate = false
}

output "acm" {
  value = module.acm
}

output "names" {
  value = module.acm_multi_domain.distinct_domain_names
}
