# A bucket with most of what can be said of one, and one that is switched off.
module "logs" {
  source = "../.."

  bucket        = "weft-wild-logs"
  force_destroy = true

  control_object_ownership = true
  object_ownership         = "ObjectWriter"
}

module "files" {
  source = "../.."

  bucket        = "weft-wild-files"
  force_destroy = true

  versioning = {
    enabled = true
  }

  server_side_encryption_configuration = {
    rule = {
      apply_server_side_encryption_by_default = {
        sse_algorithm = "AES256"
      }
    }
  }

  cors_rule = [
    {
      allowed_methods = ["GET", "PUT"]
      allowed_origins = ["https://example.com"]
    }
  ]

  lifecycle_rule = [
    {
      id      = "old"
      enabled = true
      filter  = { prefix = "old/" }
      expiration = {
        days = 30
      }
    }
  ]

  attach_deny_insecure_transport_policy = true

  tags = {
    Owner = "wild"
  }
}

module "off" {
  source        = "../.."
  create_bucket = false
}

output "files" {
  value = module.files.s3_bucket_arn
}

output "off" {
  value = module.off.s3_bucket_id
}
