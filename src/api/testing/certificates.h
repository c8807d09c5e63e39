// Certificates for tests, made on the spot: an authority, and identities that it signs for
// "localhost" and 127.0.0.1, valid for an hour.
#pragma once

#include <memory>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace berth::api::testing {

template <class T, void (*kFree)(T*)>
using Owned = std::unique_ptr<T, std::integral_constant<void (*)(T*), kFree>>;

// PEM.
struct Identity {
  std::string certificate;
  std::string key;
};

class Authority {
 public:
  explicit Authority(const std::string& name) : key_(EVP_EC_gen("P-256")) {
    certificate_ = unsigned_certificate(name, key_.get());
    X509_set_issuer_name(certificate_.get(), X509_get_subject_name(certificate_.get()));
    extend(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
    X509_sign(certificate_.get(), key_.get(), EVP_sha256());
  }

  std::string certificate() const { return text_of(certificate_.get()); }

  Identity issue(const std::string& name) const {
    const Owned<EVP_PKEY, EVP_PKEY_free> key(EVP_EC_gen("P-256"));
    const Certificate certificate = unsigned_certificate(name, key.get());
    X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate_.get()));
    extend(certificate.get(), NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    X509_sign(certificate.get(), key_.get(), EVP_sha256());
    const Text text(BIO_new(BIO_s_mem()));
    PEM_write_bio_PrivateKey(text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    return {text_of(certificate.get()), taken(text.get())};
  }

 private:
  using Certificate = Owned<X509, X509_free>;
  using Text = Owned<BIO, BIO_free_all>;

  static Certificate unsigned_certificate(const std::string& name, EVP_PKEY* key) {
    static long serial = 0;
    Certificate certificate(X509_new());
    X509_set_version(certificate.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
    X509_set_pubkey(certificate.get(), key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    return certificate;
  }
  static void extend(X509* certificate, int what, const char* value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, what, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  static std::string taken(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return {data, static_cast<std::size_t>(size)};
  }
  static std::string text_of(X509* certificate) {
    const Text text(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(text.get(), certificate);
    return taken(text.get());
  }

  Owned<EVP_PKEY, EVP_PKEY_free> key_;
  Certificate certificate_;
};

}  // namespace berth::api::testing
